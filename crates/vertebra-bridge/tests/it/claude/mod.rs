//! Claude Code's hooks, unchanged.

mod cases;
mod in_loop;
mod ours;
mod scripts;
mod world;
