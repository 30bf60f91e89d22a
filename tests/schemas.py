"""Schemas that many tests use."""

KITCHEN = """
interface Titled { title: String @index   subtitle: String? }

node Recipe @description("A dish") implements Titled {
    slug: String @key
    servings: I32
    kind: enum(starter, main, dessert)
    created: DateTime?
    steps: [String]?
    summary: String?
    embed: Vector(8)? @embed("summary", model="mini-8") @index
    picture: Blob?
    @range(servings, 1..40)
    @check(slug, "^[a-z0-9-]+$")
    @index(kind)
}
node Ingredient { name: String @key   allergen: Bool?   kcal: F32? }
node Shelf { aisle: I32  slot: I32  note: String?   @key(aisle, slot) }

edge Uses: Recipe -> Ingredient @card(1..60) { grams: F64   @unique(src, dst) }
edge StoredAt: Ingredient -> Shelf @card(0..1)
edge VariantOf: Recipe -> Recipe
"""

AIRPORTS = """
node Airport {
    code: String @key
    city: String
    elevation: I32?
    opened: Date?
    tags: [String]?
    blurb: String? @index
    pos: Vector(4)? @index
    photo: Blob?
}
node Carrier {
    iata: String @key
    name: String
    rating: F64?
    status: enum(active, dormant, defunct)
    updated: DateTime?
}
edge Route: Airport -> Airport { miles: I32  since: DateTime? }
edge Hub: Carrier -> Airport @card(0..3)
edge Owns: Carrier -> Carrier
"""

SKY = """
node Star { hip: I64 @key name: String? mag: F32 spectrum: [F32]? }
node Telescope { tag: String @key aperture: F32 }
edge Observed: Telescope -> Star { at: DateTime  seconds: I32 }
edge Orbits: Star -> Star
"""

EXAMPLES = {"kitchen": KITCHEN, "airports": AIRPORTS, "sky": SKY, "nothing": ""}
