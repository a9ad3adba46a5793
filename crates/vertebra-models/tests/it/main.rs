//! Tests of the models, one module per part.

mod wire;
