"""Knowledge from outside the training data: lexicons, word clusters, n-gram statistics."""
