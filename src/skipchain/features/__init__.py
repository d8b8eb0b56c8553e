"""Features as data: templates, views, vocabularies and encoded rows."""
