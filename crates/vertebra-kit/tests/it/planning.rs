//! Task lists that a model keeps, and is reminded of.
