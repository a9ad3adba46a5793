//! A project with settings, scripts and servers, for one firing after another.

use std::{
    ffi::OsString,
    fs,
    io::{Read as _, Write as _},
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};
use vertebra_bridge::{
    claude::{AskModel, Level, Places, Plugin, Session, Settings, fire},
    handler::BoxFuture,
    trust::Seals,
    wire::Judgement,
};
use vertebra_kit::mcp::{Mcp, McpConfig, Servers};

/// A project, a home and a managed machine, all in a folder of their own.
pub(crate) struct World {
    folder: tempfile::TempDir,
    pub(crate) session: Session,
    plugins: Vec<PathBuf>,
    extra: Vec<PathBuf>,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["project/.claude", "home/.claude", "managed"] {
            fs::create_dir_all(folder.path().join(name)).expect("a folder");
        }
        let real = folder.path().canonicalize().expect("a path");
        let mut variables: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        variables.retain(|(name, _)| name != "HOME");
        variables.push(("HOME".into(), real.join("home").into()));
        variables.push(("OTEL_EXPORTER".into(), "secret".into()));
        let session = Session {
            project: real.join("project"),
            home: Some(real.join("home")),
            variables,
            is_attended: true,
            servers: Servers::default(),
            model: None,
            env_file: Some(real.join("env.sh")),
            seals: Seals::default(),
        };
        Self { folder, session, plugins: Vec::new(), extra: Vec::new() }
    }

    pub(crate) fn project(&self) -> &Path {
        &self.session.project
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("a path").join(name)
    }

    /// What was written under a name, by a script.
    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(&path, text).expect("a file");
        path
    }

    /// A program of one's own.
    pub(crate) fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.write(name, text);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("rights");
        path
    }

    /// The settings of a level: `user`, `project`, `local`, `managed`.
    pub(crate) fn settings(&self, level: &str, settings: &Value) {
        let name = match level {
            "user" => "home/.claude/settings.json",
            "project" => "project/.claude/settings.json",
            "local" => "project/.claude/settings.local.json",
            "managed" => "managed/managed-settings.json",
            other => other,
        };
        self.write(name, &settings.to_string());
    }

    /// A project whose one group at an event has this matcher and these handlers.
    pub(crate) fn with(event: &str, matcher: Option<&str>, handlers: &Value) -> Self {
        let world = Self::new();
        let mut group = json!({ "hooks": handlers });
        if let Some(matcher) = matcher {
            group["matcher"] = matcher.into();
        }
        world.settings("project", &json!({ "hooks": { event: [group] } }));
        world
    }

    /// A project with one command at an event.
    pub(crate) fn command(event: &str, command: &str) -> Self {
        Self::with(event, None, &json!([{ "type": "command", "command": command }]))
    }

    pub(crate) fn plugin(&mut self, root: PathBuf) {
        self.plugins.push(root);
    }

    /// Settings named on the command line.
    pub(crate) fn also(&mut self, path: PathBuf) {
        self.extra.push(path);
    }

    pub(crate) fn read(&self) -> Settings {
        let places = Places {
            managed: self.path("managed"),
            home: self.session.home.clone(),
            project: Some(self.session.project.clone()),
        };
        let mut settings = Settings::read(&places);
        for path in &self.extra {
            settings.add_file(path, Level::CommandLine);
        }
        for root in &self.plugins {
            let name = root.file_name().expect("a name").to_string_lossy().into_owned();
            let (data, options) = (self.path("plugin-data"), settings.plugin_options(&name));
            settings.add_plugin(Plugin { name, root: root.clone(), data, options });
        }
        settings
    }

    pub(crate) async fn fire(&self, event: &Value) -> Judgement {
        let mut event = event.clone();
        if event.get("cwd").is_none() {
            event["cwd"] = self.project().to_string_lossy().into();
        }
        fire(&self.read(), &event, &self.session).await
    }
}

/// An event about a command.
pub(crate) fn bash(event: &str, command: &str) -> Value {
    json!({ "hook_event_name": event, "tool_name": "Bash", "tool_input": { "command": command } })
}

/// A server that answers every request like this, and keeps what it was sent.
pub(crate) fn serve(status: u16, body: &str) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (kept, body) = (seen.clone(), body.to_owned());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let mut request = Vec::new();
            let mut chunk = [0; 4096];
            while let Ok(read) = stream.read(&mut chunk) {
                request.extend_from_slice(&chunk[..read]);
                let text = String::from_utf8_lossy(&request).into_owned();
                let Some((head, sent)) = text.split_once("\r\n\r\n") else { continue };
                let length = head.lines().find_map(|line| {
                    line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse::<usize>().ok()
                });
                if read == 0 || sent.len() >= length.unwrap_or_default() {
                    kept.lock().expect("a list").push(text);
                    break;
                }
            }
            let answer = format!(
                "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\nlocation: /other\r\n\r\n{body}",
                body.len()
            );
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    (url, seen)
}

/// A model that says the same to everything, and keeps what it was asked.
pub(crate) struct Says(pub(crate) String, pub(crate) Mutex<Vec<String>>);

impl AskModel for Says {
    fn ask<'a>(&'a self, _: Option<&'a str>, prompt: String) -> BoxFuture<'a, Result<String, String>> {
        self.1.lock().expect("a list").push(prompt);
        Box::pin(async move { Ok(self.0.clone()) })
    }
}

const SERVER: &str = r#"
import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
const [said, file, isError] = process.argv.slice(2);
const answers = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } }),
  "tools/list": () => ({ tools: [{ name: "t", inputSchema: { type: "object" } }] }),
  "tools/call": ({ arguments: given }) => {
    writeFileSync(file, JSON.stringify(given));
    return { content: [{ type: "text", text: said }], isError: isError === "error" };
  },
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: answers[method](params) }));
}
"#;

/// The MCP server `s` with a tool `t` that says this; what it was given is in `mcp-args.json`.
pub(crate) async fn mcp(world: &World, said: &str, kind: &str) -> Servers {
    let server = world.write("server.mjs", SERVER);
    let args = world.path("mcp-args.json");
    let config = json!({ "mcpServers": { "s": { "command": "node", "args": [server, said, args, kind] } } });
    let config = McpConfig::from_json(&config.to_string(), |name| std::env::var(name).ok()).expect("a configuration");
    Mcp::connect(config).await.expect("a server").servers()
}
