"""Tables, Markdown, pictures and HTML that all reports share.

What they show is computed in `skipchain.metrics`, `skipchain.comparison` and `skipchain.reproduce`.
"""
