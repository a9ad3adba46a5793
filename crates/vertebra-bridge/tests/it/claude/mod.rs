//! Claude Code's hooks, unchanged.

mod cases;
mod handlers;
mod in_loop;
mod ours;
mod scripts;
mod world;
