"""A model of another package, added through the public extension point."""
