"""Multiple kernel learning with a certificate."""
