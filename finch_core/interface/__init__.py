"""What plugins implement and are held to: levels, tensor-likes, the context that they emit into."""
