//! Deny is stronger than ask, ask than allow, whoever says it, and nothing that is added makes them weaker.

use proptest::prelude::*;
use vertebra_kit::permissions::{Effect, Permissions, RuleTexts};

use super::*;

const EFFECTS: [Effect; 3] = [Effect::Allow, Effect::Ask, Effect::Deny];

fn saying(effect: Effect, rule: &str) -> RuleTexts {
    let mut texts = RuleTexts::default();
    let list = match effect {
        Effect::Allow => &mut texts.allow,
        Effect::Ask => &mut texts.ask,
        Effect::Deny => &mut texts.deny,
    };
    list.push(rule.to_owned());
    texts
}

fn verdict(effect: Effect) -> Answer<BeforeToolUse> {
    match effect {
        Effect::Allow => allow(),
        Effect::Ask => ask("somebody asks"),
        Effect::Deny => deny("somebody denies"),
    }
}

/// All 81 combinations of what managed rules, user rules, a guard of another capability and a hook say.
#[tokio::test]
async fn the_strongest_of_all_opinions_holds() {
    let word = |effect| match effect {
        Effect::Allow => "ran",
        Effect::Ask => "asked",
        Effect::Deny => "denied",
    };
    for managed in EFFECTS {
        for user in EFFECTS {
            for policy in EFFECTS {
                for hook in EFFECTS {
                    let permissions = Permissions::default()
                        .texts("managed settings", &saying(managed, "Bash(ls *)"))
                        .and_then(|permissions| permissions.texts("user settings", &saying(user, "Bash")))
                        .expect("rules");
                    let read = reads_of(permissions, "bash", command("ls"), |builder| {
                        builder.guard(BeforeToolUse.named("policy"), async move |_| verdict(policy));
                        builder.on(BeforeToolUse.named("hook"), async move |_| verdict(hook));
                    })
                    .await;
                    let strongest = [managed, user, policy, hook].into_iter().max().expect("four of them");
                    assert_eq!(in_a_word(&read), word(strongest), "{managed:?} {user:?} {policy:?} {hook:?}");
                }
            }
        }
    }
}

#[tokio::test]
async fn an_explicit_yes_answers_a_question_that_no_rule_asked() {
    let by_hook = |permissions: Permissions| {
        reads_of(permissions, "bash", command("ls"), |builder| {
            builder.on(BeforeToolUse.named("yes"), async |_| allow());
        })
    };
    assert_eq!(by_hook(Permissions::default()).await, "ok");
    assert_eq!(in_a_word(&by_hook(Permissions::default().ask("Bash").expect("a rule")).await), "asked");
}

#[tokio::test]
async fn a_rule_answers_the_question_of_another_guard_and_a_mode_that_only_reads_does_not() {
    let careful = |builder: &mut AgentBuilder| {
        builder.guard(BeforeToolUse.named("careful"), async |cx| {
            if cx.record().gave(Kind::Allow) { proceed() } else { ask("is this wise?") }
        });
    };
    assert_eq!(reads_of(allowing(&["Bash(ls *)"]), "bash", command("ls"), careful).await, "ok");
    let read = reads_of(Permissions::default(), "read_file", path("a"), careful).await;
    assert_eq!(read, "denied: careful requires approval (is this wise?), and no approver is configured");
}

/// A yes is for the form it was given to: not for what a later hook makes of it.
#[tokio::test]
async fn a_call_that_is_changed_after_it_was_allowed_is_judged_again() {
    for late in [10, 2000] {
        for permissions in [allowing(&["Bash(git *)"]), Permissions::default()] {
            let read = reads_of(permissions, "bash", command("git status"), |builder| {
                builder.on(BeforeToolUse.command("^git").named("git-is-fine").priority(5), async |_| allow());
                builder.on(BeforeToolUse.named("rewrite").priority(late), async |cx| {
                    cx.args_mut().set("command", "rm -rf x");
                    proceed()
                });
            })
            .await;
            assert_eq!(in_a_word(&read), "asked");
        }
    }
}

/// Nobody is asked about a call that is refused anyway.
#[tokio::test]
async fn a_person_is_not_asked_about_what_a_rule_denies() {
    let person = vertebra::testing::FixedApprover::yes();
    let asked = person.clone();
    let permissions = Permissions::default().deny("Bash(rm *)").expect("a rule").ask("Bash").expect("a rule");
    let read = reads_of(permissions, "bash", command("rm x"), |builder| {
        builder.approver(person);
    })
    .await;
    assert_eq!(in_a_word(&read), "denied");
    assert_eq!(asked.asked(), []);
}

/// A rule about a tool or a command also holds where a question about it is answered by hooks.
#[tokio::test]
async fn matchers_of_tools_and_commands_hold_when_somebody_asks() {
    let read = reads_of(Permissions::default(), "bash", command("ls -l"), |builder| {
        builder.on(PermissionRequest.tool("bash").command("^ls").named("ls-is-fine"), async |_| allow());
    })
    .await;
    assert_eq!(read, "ok");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    /// Adding a rule that denies or asks never makes a decision weaker, and one that allows never moves a deny or an ask
    /// that stands in a rule.
    #[test]
    fn no_rule_weakens_what_others_say(
        rules in proptest::collection::vec((0usize..3, 0usize..12), 0..6),
        more in (0usize..3, 0usize..12),
        line in 0usize..8,
    ) {
        const RULES: [&str; 12] = [
            "Bash", "*", "Bash(git *)", "Bash(rm *)", "Bash(git push)", "Bash(ls*)", "Read(**)", "Edit(src/**)",
            "Read(~/.ssh/**)", "Edit", "WebFetch(domain:example.org)", "mcp__git",
        ];
        const LINES: [&str; 8] = [
            "git status", "git push; ls", "rm -rf x", "ls > src/x", "cat ~/.ssh/id", "git log && rm x",
            "curl https://example.org", "timeout 5 git log",
        ];
        let permissions = |list: &[(usize, usize)]| {
            list.iter().fold(Permissions::default().home("/home/me"), |permissions, (effect, rule)| {
                permissions.texts("somebody", &saying(EFFECTS[*effect], RULES[*rule])).expect("a rule")
            })
        };
        let spec = RecordingTool::new("bash").spec();
        let args = Args::try_from(command(LINES[line])).expect("an object");
        let explain = |permissions: Permissions| permissions.rules().explain("s", &spec, &args, "/repo");
        let before = explain(permissions(&rules));
        let after = explain(permissions(&[&rules[..], &[more]].concat()));
        let said = EFFECTS[more.0];
        let stands_in_a_rule = !before.rules.is_empty();
        if said != Effect::Allow || (stands_in_a_rule && before.effect != Some(Effect::Allow)) {
            prop_assert!(after.effect >= before.effect, "{:?} to {:?}", before, after);
        }
        if let (Effect::Allow, Some(Effect::Deny)) = (said, before.effect) {
            prop_assert_eq!(after.effect, Some(Effect::Deny));
        }
    }
}
