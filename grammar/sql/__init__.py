"""SQL text to trees: house tokens, sqlglot's parser with house additions, errors with places."""
