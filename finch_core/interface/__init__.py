"""What plugins implement: levels, tensor-likes, looplets and backends; and the checks on
plugins."""
