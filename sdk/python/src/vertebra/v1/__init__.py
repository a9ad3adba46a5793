"""Messages of the wire, generated from `proto/vertebra/v1`."""
