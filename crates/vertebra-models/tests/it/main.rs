//! Tests of the models, one module per part.

mod picking;
mod react;
mod real;
mod wire;
