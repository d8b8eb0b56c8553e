"""Plain versions, slow and obviously right, that fast code is tested against."""
