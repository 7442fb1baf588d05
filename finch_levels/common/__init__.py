"""Helpers that several level formats share."""
