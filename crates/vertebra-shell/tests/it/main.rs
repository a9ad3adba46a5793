//! The reader against other readers of shell: bash, which runs a line, and a grammar; what it says of words; and its work.

mod bash;
mod grammar;
mod lines;
mod steps;
mod values;
