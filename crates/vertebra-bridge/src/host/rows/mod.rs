//! The hosts, one row each.

mod claude;
mod codex;
mod copilot;
mod cursor;
mod editors;
mod gemini;
mod shims;

use super::Host;

/// All hosts. If several could have sent an event, the first one is chosen.
pub static HOSTS: &[Host] = &[
    shims::OPENCODE,
    shims::AMP,
    editors::CLINE,
    editors::WINDSURF,
    cursor::CURSOR,
    gemini::GEMINI,
    gemini::QWEN,
    codex::CODEX,
    copilot::COPILOT,
    editors::KIRO,
    copilot::VSCODE,
    claude::FACTORY,
    claude::CLAUDE_CODE,
];
