//! Claude Code's hooks, unchanged.

mod brought;
mod cases;
mod follow;
mod found;
mod handlers;
mod in_loop;
mod ours;
mod scripts;
mod world;
