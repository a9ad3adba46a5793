//! Claude Code's hooks, unchanged.

mod cases;
mod ours;
mod scripts;
mod world;
