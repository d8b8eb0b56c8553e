"""Files in blocks of whole documents, however large they are: where they are cut, and how read."""
