"""NAPP-ERM (noise-augmented privacy-preserving ERM), as published."""
