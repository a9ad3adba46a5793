//! Git that would write protected names is refused before it has changed anything, and does all of its work after a yes.

use super::{
    needs::{Person, needing, results},
    *,
};

/// A repository whose branch `next` differs from `main` in a protected file and in others, and `plain` only in others.
const MADE: &str = "git init -qb main . && git config user.email a@b.c && git config user.name a && \
    mkdir -p a .vscode && echo 1 > a/f && echo '{}' > .vscode/settings.json && echo 'repos: []' > .pre-commit-config.yaml && \
    git add -A && git commit -qm 1 && git switch -qc plain && echo p > a/p && git add -A && git commit -qm p && \
    git switch -qc next && echo 2 > a/f && echo '# 2' >> .pre-commit-config.yaml && git commit -qam 2 && \
    git switch -qc theirs main && echo t > a/t && git add -A && git commit -qm t && git switch -q main";

#[expect(clippy::disallowed_methods, reason = "git ends by itself and prints little")]
fn by_person(area: &Area, script: &str) -> String {
    let done = std::process::Command::new("bash").args(["-ec", script]).current_dir(area.path("work")).output();
    let done = done.expect("bash");
    assert!(done.status.success(), "{script}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

fn area() -> Area {
    let area = Area::new();
    by_person(&area, MADE);
    area
}

/// Where the repository stands, and all that is not as it was committed.
fn state(area: &Area) -> String {
    by_person(
        area,
        "git rev-parse --abbrev-ref HEAD; git rev-parse HEAD; git status --porcelain -uall; git stash list; ls -A . ..",
    )
}

#[tokio::test]
async fn git_that_would_write_a_protected_name_is_refused_before_it_changes_anything() {
    let commands = [
        ("", "git switch next"),
        ("", "git -C a checkout next"),
        ("", "cd a && git switch -q next && cat f"),
        ("", "git switch -c other next"),
        ("", "git merge -q --ff-only next"),
        ("git switch -q theirs", "git merge -q -m merged next"),
        ("git switch -q theirs", "git rebase -q next"),
        ("git switch -q next", "git rebase -q theirs"),
        ("", "git cherry-pick next"),
        ("git switch -q next", "git revert --no-edit HEAD"),
        ("git switch -q next", "git reset -q --hard main"),
        ("echo x >> .pre-commit-config.yaml; echo x >> a/f", "git reset --hard"),
        ("git switch -q next", "git reset -q --keep HEAD~1"),
        ("echo x >> .pre-commit-config.yaml; echo x >> a/f; echo x > new", "git stash -u"),
        ("echo x > .envrc; echo x > new", "git stash push --include-untracked"),
        ("echo x >> .pre-commit-config.yaml; echo x >> a/f; git stash -q", "git stash pop"),
        ("echo x >> .pre-commit-config.yaml; echo x >> a/f", "git restore ."),
        ("echo x >> .pre-commit-config.yaml; echo x >> a/f", "git checkout -- ."),
        ("", "git checkout next -- a .pre-commit-config.yaml"),
        ("", "git worktree add -q wt next"),
        ("", "git clone -q . copy"),
        ("git worktree add -q ../wt theirs", "git worktree remove ../wt"),
        ("git branch -q --set-upstream-to=next", "git pull -q"),
    ];
    for (before, command) in commands {
        let area = area();
        by_person(&area, before);
        let was = state(&area);
        let output = area.bash(command).await.output;
        assert!(output.contains("not run, nothing was changed: git would change `"), "{command}: {output}");
        assert!(output.contains("ask for them, or for their folders, in `needs.write`"), "{command}: {output}");
        assert_eq!(state(&area), was, "{command}");
    }
}

#[tokio::test]
async fn git_that_would_write_no_protected_name_is_not_held_up() {
    let commands = [
        ("", "git switch -q theirs && cat a/t"),
        ("", "git checkout -qb new && echo 3 > a/f && git commit -qam 3"),
        ("git switch -q theirs", "git merge -q -m merged plain"),
        ("git switch -q next", "git merge -q -m merged theirs"),
        ("git switch -q theirs", "git rebase -q plain"),
        ("", "git cherry-pick theirs"),
        ("echo x >> .pre-commit-config.yaml; echo x >> a/f", "git checkout -q a/f && git restore a"),
        ("echo x >> .pre-commit-config.yaml; echo x >> a/f", "git stash push -q -- a && git stash pop -q"),
        ("echo x >> .pre-commit-config.yaml", "git switch -q theirs"),
        ("git switch -q plain", "git reset -q --hard HEAD~1"),
        ("", "git clone -q . $TMPDIR/copy && git worktree add -q $TMPDIR/wt next"),
    ];
    for (before, command) in commands {
        let area = area();
        by_person(&area, before);
        let result = area.bash(command).await;
        assert_eq!(result.exit_code, Some(0), "{command}: {}", result.output);
    }
}

#[tokio::test]
async fn git_writes_the_protected_names_that_a_person_allowed() {
    let (area, person) = (area(), Person::who_says(true));
    let calls = [
        needing("git switch -q next", json!({ "write": [".pre-commit-config.yaml"] })),
        needing(
            "git worktree add -q wt theirs && git worktree add -q ../wt plain",
            json!({ "write": ["wt", "../wt", "../wt/.vscode", "../wt/.pre-commit-config.yaml"] }),
        ),
    ];
    for result in results(&area, &person, &calls).await {
        assert_eq!(result.exit_code, Some(0), "{}", result.output);
    }
    assert_eq!(by_person(&area, "git rev-parse --abbrev-ref HEAD; git status --porcelain"), "next\n?? wt/\n");
    assert_eq!(by_person(&area, "git -C wt status --porcelain; git -C ../wt status --porcelain"), "");
    assert_eq!(person.asked().len(), 2);
}

#[tokio::test]
async fn policies_of_agents_are_not_written_by_git_whatever_a_person_says() {
    let (area, person) = (area(), Person::who_says(true));
    by_person(
        &area,
        "git switch -qc agents; mkdir .claude; echo {} > .claude/settings.json; git add -A; git commit -qm c; git switch -q main",
    );
    let call = needing("git switch agents", json!({ "write": [".claude"] }));
    let result = results(&area, &person, &[call]).await.remove(0);
    assert!(result.output.contains("`.claude/settings.json`"), "{}", result.output);
    assert!(result.output.contains("a person has to run this"), "{}", result.output);
    assert_eq!(
        by_person(&area, "git rev-parse --abbrev-ref HEAD; ls -A"),
        "main\n.git\n.pre-commit-config.yaml\n.vscode\na\n"
    );
    assert!(person.asked().is_empty());
}

#[tokio::test]
async fn a_protected_name_in_a_folder_that_the_session_was_granted_is_asked_for_by_itself() {
    let (area, person) = (area(), Person::who_says(true));
    by_person(&area, "git worktree add -q ../wt theirs");
    let call = needing("echo x > ../wt/.vscode/settings.json", json!({ "write": ["../wt/.vscode"] }));
    let (mut builder, seen) = area.agent(Script::new().call("bash", &call.to_string()).say("done"));
    let grants = area.bash.grants.clone();
    let wt = area.path("wt").canonicalize().expect("a folder");
    builder.approver(person.clone()).watch(SessionStart, async move |cx| {
        let write = [wt.clone()].into();
        grants.add(&cx.at.run.session_id, vertebra_kit::bash::Granted { write, ..Default::default() });
        Ok(())
    });
    run(&built(&mut builder), "go").await;
    assert_eq!(seen.lock().expect("no panic")[0].exit_code, Some(0));
    assert_eq!(person.asked().len(), 1, "{:?}", person.asked());
}

/// A worktree without protected names beside the working folder.
const BESIDE: &str = "git switch -q --orphan bare; git commit -q --allow-empty -m 0; git switch -q main; \
    git worktree add -q ../wt bare; mkdir ../wt/d; touch ../wt/d/f";

#[tokio::test]
async fn a_worktree_that_a_person_granted_can_be_removed_and_made_again() {
    for remove in ["git worktree remove --force ../wt", "rm -rf ../wt && git worktree prune"] {
        let (area, person) = (area(), Person::who_says(true));
        by_person(&area, BESIDE);
        let wt = json!({ "write": ["../wt"] });
        let calls = [
            needing(remove, wt.clone()),
            needing("git worktree add -q ../wt bare && touch ../wt/new", wt.clone()),
            needing("rm -rf ../wt", wt),
        ];
        for result in results(&area, &person, &calls).await {
            assert_eq!(result.exit_code, Some(0), "{remove}: {}", result.output);
        }
        assert!(!area.path("wt").exists());
    }
}

#[tokio::test]
async fn a_worktree_with_protected_names_is_removed_whole_or_not_at_all() {
    let (area, person) = (area(), Person::who_says(true));
    by_person(&area, "git worktree add -q ../wt theirs");
    let was = (state(&area), by_person(&area, "git -C ../wt status --porcelain"));
    let call = needing("git worktree remove ../wt", json!({ "write": ["../wt"] }));
    let result = results(&area, &person, &[call]).await.remove(0);
    assert!(result.output.contains("/wt/.vscode/settings.json`"), "{}", result.output);
    assert_eq!((state(&area), by_person(&area, "git -C ../wt status --porcelain")), was);
    let all = json!({ "write": ["../wt", "../wt/.vscode", "../wt/.pre-commit-config.yaml"] });
    let result = results(&area, &person, &[needing("git worktree remove ../wt", all)]).await.remove(0);
    assert_eq!(result.exit_code, Some(0), "{}", result.output);
    assert!(!area.path("wt").exists() && by_person(&area, "git worktree list").lines().count() == 1);
}

#[tokio::test]
async fn a_grant_to_remove_a_folder_reaches_neither_the_folders_beside_it_nor_a_repository_in_it() {
    let (area, person) = (area(), Person::who_says(true));
    by_person(&area, "mkdir ../beside ../repo; git init -q ../repo; echo exit > ../repo/.git/hooks/pre-push");
    let left = "ls -dA ../* ../repo/.git/hooks/pre-push ../repo/.git/config .git/config";
    let was = by_person(&area, left);
    let attacks = "rmdir ../beside; mv ../repo ../elsewhere; rm -f ../repo/.git/hooks/pre-push ../repo/.git/config; \
        rm -rf ../repo; rm -f .git/config; rm -rf .git; rmdir ../outside; mkdir ../new";
    let result = results(&area, &person, &[needing(attacks, json!({ "write": ["../repo"] }))]).await.remove(0);
    assert_eq!(by_person(&area, left), was, "{}", result.output);
}

#[tokio::test]
async fn a_worktree_whose_protected_files_are_those_of_the_folder_is_made_and_removed_without_a_question() {
    let (area, person) = (area(), Person::who_says(true));
    let file = "../work-old/.vscode/settings.json";
    let calls = [
        "git worktree add ../work-old theirs 2>&1 | tail -3",
        "cd ../work-old && cat .vscode/settings.json a/t",
        &format!("echo evil > {file}; cp a/t {file}; echo new > a/t; git commit -qam new"),
        "cd ../work; git worktree remove ../work-old; git worktree list; ls -d .. ../work-old",
    ]
    .map(|command| json!({ "command": command }));
    let results = results(&area, &person, &calls).await;
    assert_eq!(results[0].exit_code, Some(0), "{}", results[0].output);
    assert_eq!(results[1].output, "{}\nt", "{}", results[1].output);
    assert!(results[2].output.contains("settings.json: Permission denied"), "{}", results[2].output);
    assert!(results[3].output.contains("run `git worktree` in a call of its own"), "{}", results[3].output);
    assert_eq!(by_person(&area, &format!("cat {file}")), "{}\n");
    assert_eq!(person.asked(), [""; 0]);

    // Alone, after the folder that the last call did not reach.
    let calls =
        ["git worktree add -q ../work-old plain", "git worktree remove ../work-old", "git worktree list | wc -l"];
    by_person(&area, "git worktree remove --force ../work-old");
    let calls = calls.map(|command| json!({ "command": command }));
    let results = self::results(&area, &person, &calls).await;
    assert_eq!(
        results.iter().map(|result| result.exit_code).collect::<Vec<_>>(),
        [Some(0); 3],
        "{}",
        results[1].output
    );
    assert_eq!((&*results[2].output, area.path("work-old").exists()), ("1", false));
    assert_eq!(person.asked(), [""; 0]);
}

#[tokio::test]
async fn a_worktree_with_other_protected_files_is_asked_about() {
    let others = "git init -qb main $TMPDIR/evil && cd $TMPDIR/evil && git config user.email a@b.c && git config user.name a \
        && mkdir .vscode && echo evil > .vscode/settings.json && git add -A && git commit -qm 1";
    let hook = "echo 'echo x > .envrc' > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout";
    let (area, person) = (area(), Person::who_says(false));
    by_person(&area, hook);
    results(&area, &person, &[json!({ "command": "git worktree add -q ../work-next theirs" })]).await;
    assert_eq!((person.asked().len(), area.path("work-next").exists()), (1, false), "a hook may write it");

    let cases: [&[&str]; 4] = [
        &["git worktree add -q ../work-next next"],
        &["git worktree add -q ../work-next theirs && echo evil > ../work-next/.vscode/settings.json"],
        &["git worktree add -q ../work-next $(echo theirs)"],
        &[others, "cd $TMPDIR/evil && git worktree add -q --detach ../../work-next"],
    ];
    for commands in cases {
        let (area, person) = (self::area(), Person::who_says(false));
        let calls: Vec<_> = commands.iter().map(|command| json!({ "command": command })).collect();
        let results = self::results(&area, &person, &calls).await;
        let last = results.last().expect("a result");
        assert_ne!(last.exit_code, Some(0), "{commands:?}: {}", last.output);
        assert!(!area.path("work-next").exists(), "{commands:?}: {}", last.output);
    }
}
