"""Tables, Markdown and pictures that all reports share; what is measured stands elsewhere."""
