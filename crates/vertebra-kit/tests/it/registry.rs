//! Hundreds of tools, of which the model sees the ones it needs.
