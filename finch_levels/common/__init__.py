"""What several level formats share."""
