//! The packages for TypeScript and Python, checked and tested against the server that was just built.

use std::path::Path;

use crate::{
    stage::{Stage, answers},
    test::target_dir,
};

/// What has to hold for both. Each installs what it needs: Node's beside its sources, Python's beside the build products.
pub(crate) fn stages() -> Vec<Stage> {
    let target = std::path::absolute(target_dir()).unwrap_or_else(|_| target_dir());
    let server = target.join("debug").join("vertebra");
    let typescript = Path::new("sdk/typescript");
    let node = target.join("tools").join("node");
    // Debian 12 ships Node 18, and the SDK needs 20.
    let is_old = !answers("node --no-warnings --eval process.exit(parseInt(process.versions.node)<20?1:0)");
    let get_node = Stage::new("get Node", "npm install --no-audit --no-fund node@22 --prefix").arg(&node);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut programs = vec![node.join("node_modules").join(".bin")];
    programs.extend(std::env::split_paths(&path));
    let path = std::env::join_paths(programs).unwrap_or(path);
    let mut stages = Vec::from_iter(is_old.then_some(get_node));
    stages.extend([
        Stage::new("get TypeScript", "npm ci --no-audit --no-fund").within(typescript),
        Stage::new("TypeScript SDK", "npm test").env("PATH", path).env("VERTEBRA_BIN", &server).within(typescript),
        Stage::new("Python SDK", "sh sdk/python/check.sh").arg(target.join("python-sdk")).env("VERTEBRA_BIN", &server),
    ]);
    stages
}
