//! Tests of the models, one module per part.

mod cassette;
mod found;
mod lines;
mod picking;
mod react;
mod real;
mod wire;
