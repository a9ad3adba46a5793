//! Tests of the models, one module per part.

mod react;
mod real;
mod wire;
