"""What is known about words beforehand: clusters, vectors, counts from other text."""
