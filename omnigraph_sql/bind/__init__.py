"""Syntax trees and a catalog become bound statements: names resolved, types checked."""
