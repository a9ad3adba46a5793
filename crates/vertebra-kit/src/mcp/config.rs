//! Which servers there are, and how they are reached.

use std::{collections::BTreeMap, fmt, path::PathBuf, time::Duration};

use serde::Deserialize;
use vertebra::Matcher;

use super::{McpError, names, visible};

/// What a server's process is given of our own environment. Everything else is named in the configuration.
const INHERITED: [&str; 11] =
    ["HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"];

/// The servers, by name.
#[derive(Debug, Clone, Default)]
pub struct McpConfig {
    /// The servers.
    pub servers: BTreeMap<String, ServerConfig>,
}

/// One server.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// How it is reached.
    pub transport: Transport,
    /// If there are any, only tools that one of these patterns holds for; in the server's own names. See
    /// [`MatchAttribute::tool`](vertebra::MatchAttribute::tool).
    pub allow_tools: Vec<String>,
    /// Never the tools that one of these patterns holds for.
    pub deny_tools: Vec<String>,
    /// How long it may take to start and to list its tools; 30 s unless told otherwise.
    pub start_timeout: Duration,
    /// How long a call may take; 60 s unless told otherwise.
    pub call_timeout: Duration,
    /// How often in a row it is started again after it ended; 3 unless told otherwise.
    pub max_restarts: u32,
    /// How long to wait before it is started again, doubled each time; 500 ms unless told otherwise.
    pub backoff: Duration,
}

/// How a server is reached. Shown without the values of variables and headers, which may be secret.
#[derive(Clone)]
#[non_exhaustive]
pub enum Transport {
    /// As a process of its own, through its input and output.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments. No shell reads them.
        args: Vec<String>,
        /// All of its environment.
        env: BTreeMap<String, String>,
        /// Where it runs; where we run, unless told otherwise.
        cwd: Option<PathBuf>,
    },
    /// By streamable HTTP. No redirect is followed and no proxy is asked.
    Http {
        /// The address.
        url: String,
        /// What is sent along with every request.
        headers: BTreeMap<String, String>,
    },
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio { command, args, env, cwd } => f
                .debug_struct("Stdio")
                .field("command", command)
                .field("args", args)
                .field("env", &env.keys())
                .field("cwd", cwd)
                .finish(),
            Self::Http { url, headers } => {
                f.debug_struct("Http").field("url", url).field("headers", &headers.keys()).finish()
            }
        }
    }
}

impl ServerConfig {
    /// A server with all of its tools and the usual limits.
    pub fn new(transport: Transport) -> Self {
        Self {
            transport,
            allow_tools: Vec::new(),
            deny_tools: Vec::new(),
            start_timeout: Duration::from_secs(30),
            call_timeout: Duration::from_mins(1),
            max_restarts: 3,
            backoff: Duration::from_millis(500),
        }
    }

    /// Which of these tools the configuration lets through. A pattern that holds for none of them is a mistake: it
    /// would deny or allow nothing, and nobody would know.
    pub(super) fn chosen<'t>(&self, tools: &[&'t str]) -> Result<Vec<&'t str>, String> {
        let held = |field: &str, patterns: &[String]| -> Result<Vec<&'t str>, String> {
            let mut all = Vec::new();
            for pattern in patterns {
                let names = Matcher::names_held(pattern, tools.iter().copied());
                let names = names.ok_or_else(|| format!("{field}: `{pattern}` is not a pattern"))?;
                if names.is_empty() {
                    let known = visible::told(&tools.join(", "));
                    return Err(format!("{field}: `{pattern}` holds for none of its tools, which are: {known}"));
                }
                all.extend(names);
            }
            Ok(all)
        };
        let (allowed, denied) = (held("allowTools", &self.allow_tools)?, held("denyTools", &self.deny_tools)?);
        let chosen = |tool: &&&str| (self.allow_tools.is_empty() || allowed.contains(tool)) && !denied.contains(tool);
        Ok(tools.iter().filter(chosen).copied().collect())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "mcpServers")]
    servers: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Entry {
    #[serde(rename = "type")]
    kind: Option<String>,
    command: Option<String>,
    args: Option<Vec<String>>,
    env: Option<BTreeMap<String, String>>,
    cwd: Option<String>,
    url: Option<String>,
    headers: Option<BTreeMap<String, String>>,
    #[serde(default)]
    allow_tools: Vec<String>,
    #[serde(default)]
    deny_tools: Vec<String>,
    start_timeout_ms: Option<u64>,
    call_timeout_ms: Option<u64>,
}

impl McpConfig {
    /// Reads the form that other agents read too: `{"mcpServers": {"name": {"command": …} or {"url": …}}}`.
    ///
    /// `${NAME}` in a command, its arguments, folder and environment, in an address and in headers is the variable that
    /// `variable` has under that name, `${NAME:-text}` with a text to fall back on. A process is given a short list of
    /// ordinary variables (`PATH`, `HOME`, …) and what its entry names, and nothing else.
    pub fn from_json(text: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Self, McpError> {
        let file: File = serde_json::from_str(text).map_err(|error| McpError::Config(error.to_string()))?;
        let mut servers = BTreeMap::new();
        for (name, entry) in file.servers {
            names::check_server(&name)?;
            let server = entry.read(&variable);
            let server = server.map_err(|problem| McpError::Config(format!("server `{name}`: {problem}")))?;
            servers.insert(name, server);
        }
        Ok(Self { servers })
    }
}

impl Entry {
    fn read(self, variable: &impl Fn(&str) -> Option<String>) -> Result<ServerConfig, String> {
        let expanded =
            |field: &str, text: &str| expand(text, variable).map_err(|problem| format!("{field}: {problem}"));
        let each = |field: &str, map: Option<BTreeMap<String, String>>| {
            let pairs = map.unwrap_or_default().into_iter();
            pairs.map(|(name, text)| Ok((name, expanded(field, &text)?))).collect::<Result<BTreeMap<_, _>, String>>()
        };
        let is_stdio = self.command.is_some();
        let transport = match (self.command, self.url) {
            (Some(command), None) => {
                if self.headers.is_some() {
                    return Err("`headers` belong to a `url`, not to a `command`".to_owned());
                }
                let inherited = INHERITED.iter().filter_map(|name| Some(((*name).to_owned(), variable(name)?)));
                let mut env: BTreeMap<String, String> = inherited.collect();
                env.extend(each("env", self.env)?);
                let args = self.args.unwrap_or_default();
                Transport::Stdio {
                    command: expanded("command", &command)?,
                    args: args.iter().map(|arg| expanded("args", arg)).collect::<Result<_, _>>()?,
                    env,
                    cwd: self.cwd.map(|cwd| expanded("cwd", &cwd)).transpose()?.map(PathBuf::from),
                }
            }
            (None, Some(url)) => {
                if self.args.is_some() || self.env.is_some() || self.cwd.is_some() {
                    return Err("`args`, `env` and `cwd` belong to a `command`, not to a `url`".to_owned());
                }
                Transport::Http { url: expanded("url", &url)?, headers: each("headers", self.headers)? }
            }
            (Some(_), Some(_)) => return Err("it has a `command` and a `url`: which of them is meant?".to_owned()),
            (None, None) => return Err("it needs a `command` to start it or a `url` to reach it".to_owned()),
        };
        match (self.kind.as_deref(), is_stdio) {
            (None, _) | (Some("stdio"), true) | (Some("http" | "streamable-http"), false) => {}
            (Some("sse"), _) => return Err("`sse` is a transport of the past: reach it by streamable HTTP".to_owned()),
            (Some(kind), _) => return Err(format!("type `{}` does not fit the rest of it", kind.escape_debug())),
        }
        let mut config = ServerConfig::new(transport);
        config.allow_tools = self.allow_tools;
        config.deny_tools = self.deny_tools;
        config.start_timeout = self.start_timeout_ms.map_or(config.start_timeout, Duration::from_millis);
        config.call_timeout = self.call_timeout_ms.map_or(config.call_timeout, Duration::from_millis);
        Ok(config)
    }
}

/// The text with `${NAME}` replaced. Anything else with a dollar is as it stands.
fn expand(text: &str, variable: &impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (inside, behind) = after.split_once('}').ok_or("`${` without a `}`")?;
        let (name, fallback) = match inside.split_once(":-") {
            Some((name, fallback)) => (name, Some(fallback.to_owned())),
            None => (inside, None),
        };
        let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !is_name {
            return Err(format!("`${{{}}}` names no variable", inside.escape_debug()));
        }
        let value = variable(name).or(fallback);
        expanded.push_str(before);
        expanded.push_str(&value.ok_or_else(|| format!("the variable `{name}` is not set"))?);
        rest = behind;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(name: &str) -> Option<String> {
        let known = [("PATH", "/bin"), ("TOKEN", "s3cret"), ("SECRET_OF_OURS", "no")];
        known.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    }

    fn read(servers: &str) -> Result<McpConfig, String> {
        McpConfig::from_json(&format!(r#"{{"mcpServers": {servers}}}"#), variable).map_err(|error| error.to_string())
    }

    #[test]
    fn a_process_gets_ordinary_variables_and_those_named_and_nothing_else() {
        let config = read(
            r#"{"a": {"command": "run", "args": ["--key=${TOKEN}", "$HOME", "${NONE:-x}"], "env": {"K": "${TOKEN}!"}, "cwd": "/d"}}"#,
        );
        let Transport::Stdio { command, args, env, cwd } = config.expect("valid").servers["a"].transport.clone() else {
            panic!("a process")
        };
        assert_eq!((&*command, cwd), ("run", Some(PathBuf::from("/d"))));
        assert_eq!(args, ["--key=s3cret", "$HOME", "x"]);
        let env: Vec<_> = env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(env, ["K=s3cret!", "PATH=/bin"]);
    }

    #[test]
    fn a_server_at_an_address_gets_its_headers_and_limits() {
        let config = read(
            r#"{"a": {"type": "http", "url": "https://example.org/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"},
                "denyTools": ["delete_*"], "startTimeoutMs": 5, "callTimeoutMs": 7}}"#,
        )
        .expect("valid");
        let server = &config.servers["a"];
        let Transport::Http { url, headers } = &server.transport else { panic!("an address") };
        assert_eq!((&**url, &*headers["Authorization"]), ("https://example.org/mcp", "Bearer s3cret"));
        assert_eq!((server.start_timeout.as_millis(), server.call_timeout.as_millis()), (5, 7));
        assert!(!format!("{config:?}").contains("s3cret"), "{config:?}");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let cases = [
            (r#"{"a": {"comand": "x"}}"#, "unknown field `comand`, expected one of `type`, `command`, `args`"),
            (r#"{"a": {"command": 1}}"#, "invalid type: integer `1`, expected a string at line 1"),
            (r#"{"a": {}}"#, "server `a`: it needs a `command` to start it or a `url` to reach it"),
            (r#"{"a": {"command": "x", "url": "y"}}"#, "server `a`: it has a `command` and a `url`"),
            (r#"{"a": {"command": "x", "headers": {}}}"#, "`headers` belong to a `url`"),
            (r#"{"a": {"url": "x", "args": []}}"#, "belong to a `command`"),
            (r#"{"a": {"url": "x", "type": "sse"}}"#, "`sse` is a transport of the past"),
            (r#"{"a": {"url": "x", "type": "stdio"}}"#, "type `stdio` does not fit the rest of it"),
            (
                r#"{"a": {"command": "x", "env": {"K": "${MISSING}"}}}"#,
                "server `a`: env: the variable `MISSING` is not set",
            ),
            (r#"{"a": {"command": "x", "args": ["${"]}}"#, "server `a`: args: `${` without a `}`"),
            (r#"{"a": {"command": "${a b}"}}"#, "server `a`: command: `${a b}` names no variable"),
            (r#"{"a__b": {"command": "x"}}"#, "`a__b` cannot be a server's name"),
        ];
        for (servers, expected) in cases {
            let problem = read(servers).map(drop).expect_err(servers);
            assert!(
                problem.starts_with("the MCP configuration is not valid: ") && problem.contains(expected),
                "{problem}"
            );
        }
        let other = McpConfig::from_json(r#"{"servers": {}}"#, variable).expect_err("another key").to_string();
        assert!(other.contains("unknown field `servers`, expected `mcpServers`"), "{other}");
    }

    #[test]
    fn patterns_choose_tools_and_those_that_hold_for_none_are_mistakes() {
        let mut config = ServerConfig::new(Transport::Http { url: String::new(), headers: BTreeMap::new() });
        let tools = ["read_a", "read_b", "write"];
        assert_eq!(config.chosen(&tools).expect("all"), tools);
        config.allow_tools = vec!["read_*".to_owned()];
        config.deny_tools = vec!["read_b".to_owned()];
        assert_eq!(config.chosen(&tools).expect("one"), ["read_a"]);
        config.deny_tools = vec!["wirte".to_owned()];
        let expected = "denyTools: `wirte` holds for none of its tools, which are: read_a, read_b, write";
        assert_eq!(config.chosen(&tools).expect_err("a mistake"), expected);
        config.deny_tools = vec!["/(/".to_owned()];
        assert_eq!(config.chosen(&tools).expect_err("a mistake"), "denyTools: `/(/` is not a pattern");
    }
}
