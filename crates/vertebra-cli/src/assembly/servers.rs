//! MCP servers, from the file that the settings name.

use std::{collections::BTreeMap, fs::File, io::Read as _, path::PathBuf};

use anyhow::{Context as _, ensure};
use futures_util::future::join_all;
use vertebra_bridge::settings::{McpSettings, Said};
use vertebra_kit::mcp::{Mcp, McpConfig};

use super::World;

/// The largest file that is read.
const MAX_BYTES: u64 = 1 << 20;

/// Connects to the servers. Returns those that answer and a notice for each that does not.
pub(super) async fn connect(settings: &McpSettings, world: &World) -> anyhow::Result<(Vec<Mcp>, Vec<String>)> {
    let Some(file) = &settings.file else { return Ok((Vec::new(), Vec::new())) };
    let config = read(file, world).with_context(|| format!("`[mcp]` in {}", file.origin))?;
    let each = config.servers.into_iter().map(|server| Mcp::connect(McpConfig { servers: BTreeMap::from([server]) }));
    let (mut servers, mut notices) = (Vec::new(), Vec::new());
    for connected in join_all(each).await {
        match connected {
            Ok(server) => {
                notices.extend(server.left_out().iter().map(|tool| format!("tool ignored: {tool}")));
                servers.push(server);
            }
            Err(error) => notices.push(format!("MCP server ignored: {error}")),
        }
    }
    Ok((servers, notices))
}

fn read(file: &Said<String>, world: &World) -> anyhow::Result<McpConfig> {
    let path = match (file.value.strip_prefix("~/"), world.variables.get("HOME")) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => PathBuf::from(&file.value),
    };
    let mut text = String::new();
    let opened = File::open(&path).with_context(|| path.display().to_string())?;
    opened.take(MAX_BYTES + 1).read_to_string(&mut text).with_context(|| path.display().to_string())?;
    ensure!(text.len() as u64 <= MAX_BYTES, "{} is larger than {MAX_BYTES} bytes", path.display());
    McpConfig::from_json(&text, |name| world.variables.get(name).cloned()).with_context(|| path.display().to_string())
}
