"""From parameters to potentials, and from gradients in potentials back to parameters."""
