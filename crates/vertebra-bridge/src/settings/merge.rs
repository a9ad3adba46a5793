//! Merges several levels: lists add up, the most specific value wins, and the managed level sets bounds.

use std::collections::BTreeMap;

use super::{
    AboutHooks, InstructionSettings, JournalSettings, LimitSettings, McpSettings, ModelSettings, NetworkAccess,
    PermissionSettings, ProviderSettings, Said, SandboxSettings, Settings, ToolSettings,
};

/// Merges all levels. Returns the result, and a line for each value that the managed level overruled. Pass the most
/// specific level last: user, project, command line.
pub fn merge(managed: Settings, others: impl IntoIterator<Item = Settings>) -> (Settings, Vec<String>) {
    let mut nearer = Join { fenced: false, overruled: Vec::new() };
    let nearest = others.into_iter().fold(Settings::default(), |lower, upper| nearer.settings(lower, upper));
    let mut fence = Join { fenced: true, overruled: Vec::new() };
    let settings = fence.settings(managed, nearest);
    (settings, fence.overruled)
}

/// Merges two levels. If the lower one is a fence (the managed level), the upper one may only be stricter.
struct Join {
    fenced: bool,
    overruled: Vec<String>,
}

impl Join {
    fn settings(&mut self, lower: Settings, upper: Settings) -> Settings {
        Settings {
            model: self.model(lower.model, upper.model),
            permissions: self.permissions(lower.permissions, upper.permissions),
            limits: self.limits(lower.limits, upper.limits),
            sandbox: self.sandbox(lower.sandbox, upper.sandbox),
            instructions: InstructionSettings {
                text: added(lower.instructions.text, upper.instructions.text),
                project: self.stricter("instructions.project", lower.instructions.project, upper.instructions.project),
            },
            mcp: McpSettings { file: self.kept("mcp.file", lower.mcp.file, upper.mcp.file) },
            tools: ToolSettings { known: added(lower.tools.known, upper.tools.known) },
            journal: self.journal(lower.journal, upper.journal),
            points: added(lower.points, upper.points),
            hooks: added(lower.hooks, upper.hooks),
            about_hooks: AboutHooks {
                disable: added(lower.about_hooks.disable, upper.about_hooks.disable),
                project: self.stricter("hooks.project", lower.about_hooks.project, upper.about_hooks.project),
            },
        }
    }

    fn model(&mut self, lower: ModelSettings, upper: ModelSettings) -> ModelSettings {
        let mut providers: BTreeMap<String, Said<ProviderSettings>> = lower.providers;
        for (name, nearer) in upper.providers {
            let Some(known) = providers.remove(&name) else {
                providers.insert(name, nearer);
                continue;
            };
            let path = |key: &str| format!("model.provider.{name}.{key}");
            let value = ProviderSettings {
                base_url: self.kept(&path("base_url"), known.value.base_url, nearer.value.base_url),
                key: self.kept(&path("key"), known.value.key, nearer.value.key),
            };
            providers.insert(name, Said { value, origin: nearer.origin });
        }
        // The choice of model is free; the address its requests go to is not.
        ModelSettings {
            name: upper.name.or(lower.name),
            driver: upper.driver.or(lower.driver),
            window: upper.window.or(lower.window),
            retry: upper.retry.or(lower.retry),
            providers,
            unknown_address: lower.unknown_address.or(upper.unknown_address),
        }
    }

    fn permissions(&mut self, lower: PermissionSettings, upper: PermissionSettings) -> PermissionSettings {
        PermissionSettings {
            mode: self.stricter("permissions.mode", lower.mode, upper.mode),
            // Deny beats ask and ask beats allow at every level, so adding a rule never weakens another.
            allow: added(lower.allow, upper.allow),
            ask: added(lower.ask, upper.ask),
            deny: added(lower.deny, upper.deny),
            folders: added(lower.folders, upper.folders),
        }
    }

    fn limits(&mut self, lower: LimitSettings, upper: LimitSettings) -> LimitSettings {
        LimitSettings {
            steps: self.stricter("limits.steps", lower.steps, upper.steps),
            tokens: self.stricter("limits.tokens", lower.tokens, upper.tokens),
            time: self.stricter("limits.time", lower.time, upper.time),
            cost_micros: self.stricter("limits.cost", lower.cost_micros, upper.cost_micros),
        }
    }

    fn sandbox(&mut self, lower: SandboxSettings, upper: SandboxSettings) -> SandboxSettings {
        let write = match lower.write.first() {
            Some(fence) if self.fenced => {
                for more in &upper.write {
                    self.overrule("sandbox.write", fence, more);
                }
                lower.write
            }
            Some(_) | None => added(lower.write, upper.write),
        };
        SandboxSettings {
            need: self.stricter("sandbox.need", lower.need, upper.need),
            network: self.network(lower.network, upper.network),
            write,
            deny_read: added(lower.deny_read, upper.deny_read),
        }
    }

    /// Returns the upper network, unless the lower one is a fence that does not allow all of it.
    fn network(
        &mut self,
        lower: Option<Said<NetworkAccess>>,
        upper: Option<Said<NetworkAccess>>,
    ) -> Option<Said<NetworkAccess>> {
        match (lower, upper) {
            (Some(fence), Some(nearer)) if self.fenced && !fence.value.includes(&nearer.value) => {
                self.overrule("sandbox.network", &fence, &nearer);
                Some(fence)
            }
            (lower, upper) => upper.or(lower),
        }
    }

    fn journal(&mut self, lower: JournalSettings, upper: JournalSettings) -> JournalSettings {
        JournalSettings {
            enabled: self.kept("journal.enabled", lower.enabled, upper.enabled),
            path: self.kept("journal.path", lower.path, upper.path),
            sync: self.stricter("journal.sync", lower.sync, upper.sync),
            chain: self.kept("journal.chain", lower.chain, upper.chain),
            keep: self.kept("journal.keep", lower.keep, upper.keep),
            max_sessions: self.kept("journal.max_sessions", lower.max_sessions, upper.max_sessions),
            max_bytes: self.kept("journal.max_bytes", lower.max_bytes, upper.max_bytes),
        }
    }

    /// Returns the upper value, unless the lower one is a fence and stricter (smaller).
    fn stricter<T: PartialOrd>(
        &mut self,
        key: &str,
        lower: Option<Said<T>>,
        upper: Option<Said<T>>,
    ) -> Option<Said<T>> {
        match (lower, upper) {
            (Some(fence), Some(nearer)) if self.fenced && fence.value < nearer.value => {
                self.overrule(key, &fence, &nearer);
                Some(fence)
            }
            (lower, upper) => upper.or(lower),
        }
    }

    /// Returns the upper value, unless the lower one is a fence.
    fn kept<T: PartialEq>(&mut self, key: &str, lower: Option<Said<T>>, upper: Option<Said<T>>) -> Option<Said<T>> {
        match (lower, upper) {
            (Some(fence), Some(nearer)) if self.fenced => {
                if fence.value != nearer.value {
                    self.overrule(key, &fence, &nearer);
                }
                Some(fence)
            }
            (lower, upper) => upper.or(lower),
        }
    }

    fn overrule<T>(&mut self, key: &str, fence: &Said<T>, nearer: &Said<T>) {
        self.overruled.push(format!("`{key}` in {} is ignored: {} takes precedence", nearer.origin, fence.origin));
    }
}

fn added<T>(mut lower: Vec<T>, upper: Vec<T>) -> Vec<T> {
    lower.extend(upper);
    lower
}
