"""What is known beside labelled data: word lists, clusters, counts of n-grams."""
