//! One committed secret, one rule that denies reading it, and every way that git has to show it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, LazyLock, Mutex},
};

use serde_json::json;
use tempfile::TempDir;
use tokio::{
    sync::Semaphore,
    task::{JoinSet, spawn_blocking},
};
use vertebra::{prelude::*, testing::Script};
use vertebra_kit::{
    bash::{Bash, Environment, Sandbox},
    permissions::Permissions,
};

use super::support::{built, run};

/// How many ways are tried at the same time.
const AT_ONCE: usize = 4;

/// A repository with a secret in its work tree, its index, three commits, a stash and a second branch.
struct Repository {
    root: TempDir,
    rule: &'static str,
    sandbox: Sandbox,
}

fn git(folder: &Path, line: &str) {
    let status = Command::new("bash")
        .args(["-ec", line])
        .current_dir(folder)
        .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")])
        .status()
        .expect("bash");
    assert!(status.success(), "{line}");
}

impl Repository {
    fn new() -> Self {
        static TEMPLATE: LazyLock<TempDir> = LazyLock::new(Repository::template);
        let root = tempfile::tempdir().expect("a folder");
        let copied = Command::new("cp").arg("-a").arg(TEMPLATE.path().join(".")).arg(root.path()).status();
        assert!(copied.expect("cp").success());
        let launcher = Some(env!("CARGO_BIN_EXE_vertebra-sandbox").into());
        Self { root, rule: "Read(**/.env)", sandbox: Sandbox { launcher, ..Sandbox::required() } }
    }

    fn template() -> TempDir {
        let root = tempfile::tempdir().expect("a folder");
        for name in ["work/src", "tmp", "above"] {
            fs::create_dir_all(root.path().join(name)).expect("a new folder");
        }
        let set_up = "git init -q -b main .
            git config user.name n; git config user.email n@example.org
            echo KEY=swordfish-0 > .env; echo open0 > src/lib.rs; git add -A; git commit -qm one
            echo KEY=swordfish-1 > .env; echo open1 > src/lib.rs; git commit -qam two
            git checkout -qb other HEAD~1; echo KEY=swordfish-9 > .env; git commit -qam two
            git checkout -q --detach main; mkdir keys; echo KEY=swordfish-5 > keys/.env; echo [a] > old.rs
            git add -A; git commit -qm lost; git rev-parse HEAD > ../lost; git checkout -q main
            git reflog expire --expire=now --all
            echo KEY=swordfish-2 > .env; git stash -q
            echo KEY=swordfish-1 > .env; git pack-refs --all
            echo KEY=swordfish-3 > ../above/.env; echo KEY=swordfish-4 > ../.env";
        git(&root.path().join("work"), set_up);
        root
    }

    fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// Returns a command with the folder for `ROOT` and the hash of a commit that no branch leads to for `LOST`.
    fn filled_in(&self, command: &str) -> String {
        let lost = fs::read_to_string(self.root.path().join("lost")).expect("a hash");
        command.replace("ROOT", self.root.path().to_str().expect("text")).replace("LOST", lost.trim())
    }

    /// Runs the commands one after the other in one run. Everything is allowed except reading the secret.
    async fn runs(&self, commands: &[&str]) -> String {
        let script = commands.iter().fold(Script::new(), |script, command| {
            script.call("bash", &json!({ "command": self.filled_in(command) }).to_string())
        });
        let results = Arc::new(Mutex::new(Vec::new()));
        let told = results.clone();
        let environment = Environment::default()
            .set("TMPDIR", self.root.path().join("tmp").display().to_string())
            .set("GIT_CONFIG_GLOBAL", "/dev/null");
        let bash = Bash { sandbox: self.sandbox.clone(), environment, judged: false, ..Bash::in_dir(self.work()) };
        let mut builder = Agent::builder(script.say("done").may_end_early());
        builder.working_directory(self.work().display().to_string()).max_steps(100).with(bash);
        builder.with(Permissions::bypassing_questions().deny(self.rule).expect("a rule"));
        builder.watch(AfterToolUse, async move |cx| {
            told.lock().expect("no panic").push(format!("{}: {}", cx.result.status, cx.result.output));
            Ok(())
        });
        run(&built(&mut builder), "go").await;
        results.lock().expect("no panic").join("\n")
    }
}

/// Runs the commands one after the other, as a person would: no rule, no sandbox and no agent.
fn unguarded(repository: &Repository, commands: &[String]) -> String {
    let mut told = String::new();
    for command in commands {
        let output = Command::new("bash")
            .args(["-c", &repository.filled_in(command)])
            .current_dir(repository.work())
            .env("TMPDIR", repository.root.path().join("tmp"))
            .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_PAGER", "cat")])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .and_then(Child::wait_with_output)
            .expect("bash");
        told += &String::from_utf8_lossy(&[output.stdout, output.stderr].concat());
    }
    told
}

/// Inflates every loose object below a folder.
const ZLIB: &str = "import glob,zlib,sys\nfor p in glob.glob(sys.argv[1]+'/o*ts/??/*'):\n  \
                    try: print(zlib.decompress(open(p,'rb').read()))\n  except Exception: pass";

/// Writes an index in which a file that no rule hides has the content of the secret. Its hash is in `b`.
const INDEX: &str = "import hashlib,struct\nh=bytes.fromhex(open('b').read().split()[2]); n=b'seen'\n\
                     e=struct.pack('>10I',0,0,0,0,0,0,0o100644,0,0,0)+h+struct.pack('>H',len(n))+n\n\
                     d=b'DIRC'+struct.pack('>2I',2,1)+e+bytes(8-len(e)%8)\n\
                     open('.git/index','wb').write(d+hashlib.sha1(d).digest())";

/// Writes a commit into the repository `n` in which a file that no rule hides has the content of the secret.
const COMMIT: &str = "import hashlib,os,sys,zlib\nh=bytes.fromhex(open('b').read().split()[2])\n\
                      def w(t,d):\n  s=t+b' '+str(len(d)).encode()+bytes(1)+d; x=hashlib.sha1(s).hexdigest()\n  \
                      os.makedirs('n/.git/objects/'+x[:2],exist_ok=True)\n  \
                      open('n/.git/objects/'+x[:2]+'/'+x[2:],'wb').write(zlib.compress(s)); return x\n\
                      t=w(b'tree',b'100644 seen'+bytes(1)+h)\n\
                      c=w(b'commit',('tree %s\\nauthor a <a> 1 +0000\\ncommitter a <a> 1 +0000\\n\\nm' % t).encode())\n\
                      open('n/.git/refs/heads/main','w').write(c)";

/// Ways to read the secret out of the repository, each a list of commands.
fn ways() -> Vec<Vec<String>> {
    let one = [
        "git show HEAD:.env",
        "git show :.env",
        "git show HEAD:./.env",
        "git show :0:.env",
        "git show main~1:.env",
        "cd src && git show HEAD:../.env || git show HEAD:.env",
        "git show stash:.env",
        "git show $(git rev-parse HEAD:.env)",
        "git show $(git ls-tree HEAD | grep env | cut -c13-52)",
        "git cat-file -p HEAD:.env",
        "git cat-file blob HEAD:.env",
        "git cat-file -p $(git ls-files -s | awk '/env/{print $2}')",
        "git ls-files -s | awk '/env/{print $2}' | xargs git cat-file -p",
        "git ls-files -s | awk '/env/{print $2}' | git cat-file --batch",
        "git cat-file --batch-all-objects --batch",
        "git rev-list --objects --all | cut -c1-40 | git cat-file --batch | cat",
        "git grep KEY HEAD",
        "git grep -h KEY",
        "git grep --cached -n KEY",
        "git grep KEY $(git rev-list --all) | tr a-z a-z",
        "git archive HEAD | tar xO",
        "git archive -o $TMPDIR/a.tar HEAD && tar xOf $TMPDIR/a.tar",
        "git archive --remote=. HEAD | tar xO",
        "git show HEAD",
        "git show --format=%H -U0 main other",
        "git show HEAD | base64 | base64 -d",
        "git diff HEAD~1",
        "git diff --word-diff HEAD~1",
        "git diff -R --no-prefix HEAD~1 > $TMPDIR/d; cat $TMPDIR/d",
        "git diff --output=$TMPDIR/d HEAD~1; cat $TMPDIR/d",
        "git diff $(git rev-parse HEAD:.env) $(git rev-parse HEAD:src/lib.rs)",
        "git --no-pager log -p",
        "git log -p --graph",
        "git log -p --all --reverse | cat",
        "git log -L1,1:.env",
        "git log --stat -c -U1",
        "git whatchanged --i-still-use-this -p || git log -u",
        "git reflog -p",
        "git diff-tree -p HEAD~1 HEAD",
        "git diff-index -p HEAD~1",
        "git checkout-index --prefix=$TMPDIR/zz/ -a; cat $TMPDIR/zz/.env",
        "git checkout-index -a --prefix=$TMPDIR/zz/; cp $TMPDIR/zz/.e* $TMPDIR/zz/seen; cat $TMPDIR/zz/seen",
        "git worktree add -q $TMPDIR/wt HEAD; cat $TMPDIR/wt/.e*",
        "git clone -q . $TMPDIR/cl && cat $TMPDIR/cl/.env",
        "git clone -q . $TMPDIR/cl; cd $TMPDIR/cl; cat $(ls -A | grep env)",
        "git clone -q --bare ROOT/work $TMPDIR/b; git --git-dir=$TMPDIR/b cat-file -p HEAD:.env",
        "git init -q $TMPDIR/n; cd $TMPDIR/n; git fetch -q ROOT/work main; git show FETCH_HEAD:.env",
        "git init -q --bare $TMPDIR/n; git push -q $TMPDIR/n main; cd $TMPDIR/n; git log -p main | cat",
        "git stash show -p",
        "git stash show -p stash@{0} | cat",
        "git blame -s .env",
        "for f in $(git ls-files); do git blame -s $f; done",
        "git annotate -s .env",
        "git bundle create -q $TMPDIR/b HEAD && git clone -q $TMPDIR/b $TMPDIR/bc && cat $TMPDIR/bc/.env",
        "git fast-export --all",
        "git format-patch --stdout HEAD~1",
        "git format-patch -o $TMPDIR/p --root -q HEAD; cat $TMPDIR/p/*",
        "git --work-tree=$TMPDIR checkout HEAD -- .; cat $TMPDIR/.env",
        "git --work-tree=$TMPDIR restore -s HEAD -- :/; cat $TMPDIR/.e??",
        "GIT_WORK_TREE=$TMPDIR git checkout -f; cat $TMPDIR/.e*",
        "git diff --no-index /dev/null .e*",
        "git diff --no-index src . | cat",
        "git difftool -y -x cat HEAD~1",
        "git range-diff --creation-factor=999 HEAD~1..HEAD HEAD~1..other",
        "git notes add -C $(git rev-parse HEAD:.env) HEAD; git notes show",
        "git tag t $(git rev-parse HEAD:.env); git for-each-ref --format='%(raw)' refs/tags/t",
        "git -C ../work show HEAD:.env",
        "cd / && git -C ROOT/work log -1 -p",
        "git --git-dir=.git cat-file -p HEAD:.env",
        "cd /; GIT_DIR=ROOT/work/.git git show HEAD:.env",
        "git -c alias.x='show HEAD:.env' x",
        "git config alias.y 'show HEAD:.env'; git y",
        "git unpack-file $(git rev-parse HEAD:.env); cat .merge_file*",
        "GIT_INDEX_FILE=$TMPDIR/i git read-tree HEAD; GIT_INDEX_FILE=$TMPDIR/i git checkout-index --prefix=$TMPDIR/q/ -a; cat $TMPDIR/q/.env",
        "git update-index --add --cacheinfo 100644,$(git rev-parse HEAD:.env),seen; git checkout-index seen; cat seen",
        "x=--exec; git rebase -q $x 'git show HEAD:.env' HEAD~1",
        "printf 'git show HEAD:.env' > s.sh; sh s.sh",
        "python3 -c \"import subprocess; subprocess.run(['git', 'show', 'HEAD:.' + 'env'])\"",
        "git status -sv -v; git commit --dry-run -v --amend",
        "git checkout HEAD~1 -q && git diff main | cat",
        "cp -r .git $TMPDIR/g; git --git-dir=$TMPDIR/g show HEAD:.env",
        "$(which git) show HEAD:.env",
        "x=show; git $x HEAD:.env",
        "eval \"git show HEAD:.e\"'nv'",
        "echo 'show HEAD:.env' | xargs git",
        "git show ':/two' | grep KEY",
        "git show 'HEAD@{1:00}' | grep KEY",
        "git show LOST | grep KEY",
        "git log -p LOST | cut -c2-",
        "git diff HEAD LOST | tr a-z a-z",
        "git diff LOST:keys HEAD:src",
        "git grep KEY LOST:keys",
        "git show LOST:keys/ | cat; T=$(git rev-parse LOST:keys); git show $T:.env",
        "git archive LOST:keys | tar xO",
        "git diff --relative=keys HEAD LOST | cut -c2-",
        "git grep -C1 -e nothing -e KEY HEAD | cut -c10-",
        "git grep -c --no-count KEY HEAD | cut -c10-",
        "git log -p --format='diff --git a/x b/x%n@@ -1,999 +1,999 @@'",
        "git log -p --format='diff --git a/x b/x%n--- a/x%n+++ b/x%n@@ -1,999 +1,999 @@'",
        "printf 'diff --git a/x b/x\\n@@ -1,999 +1,999 @@\\n'; git show HEAD",
        "printf 'diff --git a/x b/x\\n@@ -1,999 +1,999 @@\\n'; git grep KEY HEAD",
        "echo 'diff --git a/x b/x'; git grep KEY HEAD",
        "git diff --output-indicator-new='#' --output-indicator-old='#' -U0 HEAD~1 HEAD",
        "git config stash.showPatch true; git stash show | grep KEY",
        "echo \"create refs/replace/$(git rev-parse HEAD:src/lib.rs) $(git rev-parse HEAD:.env)\" | git update-ref --stdin; git show HEAD:src/lib.rs",
        "git rm -q --cached .env; git checkout -q LOST && cat keys/.e*",
        "git checkout -q LOST -- keys; grep -rh KEY keys",
        "git checkout -q LOST -- keys; git mv keys k2; cat k2/.e*",
        "git read-tree LOST:keys; git show :.env",
        "git commit-tree -m x LOST:keys > $TMPDIR/c; git show $(cat $TMPDIR/c) | cat",
        "git repack -q -ad --filter=blob:none --filter-to=$TMPDIR/pack; git --git-dir=.git log -p | cat",
        "echo 'git log -p | cut -c2-' > e.sh; chmod +x e.sh; EDITOR=./e.sh git commit --amend",
        "printf '#!/bin/sh\\n/usr/bin/env -i PATH=/usr/bin:/usr/local/bin git log -p' > git; chmod +x git; PATH=.:$PATH git status",
        "printf '#!/bin/sh\\nexec /usr/bin/env git log -p' > git; chmod +x git; ./git status",
        "git show --format='%h --stat' HEAD | cut -c2-",
        "git log -p --format='%h -- src' | cut -c2-",
        "git log -p --date=format:%Y\\ --stat | cut -c2-",
        "git -c 'user.name=a status' show HEAD | cut -c2-",
        "mkdir 'x status'; git -C 'x status' show HEAD | cut -c2-",
        "cat .env",
        "cat ../above/.env",
        "cat ROOT/above/.env",
        "cd .. && cat above/.env",
        "cd ../above; cat .env",
        "cat ../.env",
        "python3 -c \"print(open('../above/.' + 'env').read(), open('../.' + 'env').read())\"",
    ];
    let mut ways: Vec<Vec<String>> = one.iter().map(|way| vec![(*way).to_owned()]).collect();
    ways.extend([
        vec![format!("python3 -c \"{ZLIB}\" .git")],
        vec![format!("cp -r .git $TMPDIR/g; python3 -c \"{ZLIB}\" $TMPDIR/g")],
        vec![format!("git status -s; python3 -c \"{ZLIB}\" .git")],
        vec!["cp -r . $TMPDIR/copy".to_owned(), "cat $TMPDIR/copy/$(printf '.%s' env)".to_owned()],
        vec!["git clone -q . $TMPDIR/cl".to_owned(), "cat $TMPDIR/cl/$(printf '.%s' env)".to_owned()],
        vec![
            "git worktree add -q $TMPDIR/wt".to_owned(),
            "cd $TMPDIR/wt; python3 -c \"print(open('.env').read())\"".to_owned(),
        ],
        vec!["cp -r .git $TMPDIR/g".to_owned(), format!("python3 -c \"{ZLIB}\" $TMPDIR/g")],
        vec!["git tag t $(git rev-parse HEAD:.env)".to_owned(), "git show t".to_owned()],
        vec![
            "B=$(git ls-tree HEAD .env | cut -c13-52); F=$(git ls-tree HEAD src/lib.rs | cut -c13-52); \
             mkdir .git/refs/replace; echo $B > .git/refs/replace/$F"
                .to_owned(),
            "git show HEAD:src/lib.rs".to_owned(),
        ],
        vec!["git rebase -q --apply --onto LOST main~1 other".to_owned(), "cat .git/rebase-apply/*".to_owned()],
        vec!["git rebase -q main other".to_owned(), "cat .git/rebase-merge/patch".to_owned()],
        vec!["git rebase -q main other".to_owned(), "git rebase --show-current-patch | grep KEY".to_owned()],
    ]);
    let lists = "git ls-tree HEAD .env > b; git init -q -b main n".to_owned();
    let index = format!("python3 -c \"{INDEX}\"");
    let commit = format!("python3 -c \"{COMMIT}\"");
    for read in ["git checkout-index seen; cat seen", "git restore seen; cat seen", "git diff", "git show :seen"] {
        ways.push(vec![lists.clone(), index.clone(), read.to_owned()]);
    }
    ways.push(vec![lists.clone(), index, "git commit -qm x".to_owned(), "git show HEAD:seen".to_owned()]);
    for borrow in [
        "echo ROOT/work/.git/objects > n/.git/objects/info/alternates",
        "echo '\"ROOT/work/.git/objects\"' > n/.git/objects/info/alternates",
        "ln -s ROOT/work/.git/objects o; echo ROOT/work/o > n/.git/objects/info/alternates",
        "git init -q m; echo ROOT/work/.git/objects > m/.git/objects/info/alternates; \
         echo ROOT/work/m/.git/objects > n/.git/objects/info/alternates",
        "h=$(cut -c13-52 b); p=${h:0:2}; mkdir -p n/.git/objects/$p; \
         ln -s ROOT/work/.git/objects/$p/${h:2} n/.git/objects/$p/${h:2}",
    ] {
        let read = "cd n; git show HEAD:seen; git checkout -q main -- seen; cat seen".to_owned();
        ways.push(vec![lists.clone(), borrow.to_owned(), commit.clone(), read]);
    }
    ways
}

/// Ways to a commit that no branch leads to, without its name in the arguments of git.
const UNREFERENCED: &[&str] = &[
    "git show $(printf '%s:keys/.%s' LOST env)",
    "git show $(echo LOST) | cut -c2-",
    "x=LOST; git log -p $x | cat",
    "git checkout -q $(echo LOST) && cat keys/.e*",
    "c=$(echo LOST | tr a-z a-z); git archive $c | tar xO",
];

#[tokio::test]
async fn a_commit_that_no_branch_leads_to_is_looked_at_where_a_substitution_may_name_it() {
    for way in UNREFERENCED {
        let read = unguarded(&Repository::new(), &[(*way).to_owned()]);
        assert!(read.contains("swordfish-5"), "without the rule this should work: {way}\n{read}");
        let mut repository = Repository::new();
        repository.rule = "Read(**/keys/**)";
        let read = repository.runs(&[way]).await;
        assert!(!read.contains("swordfish-5"), "{way}\n{read}");
    }
}

#[tokio::test]
async fn git_writes_a_hidden_file_to_no_other_place() {
    let other_branch = "git checkout -qb side; mkdir hid w; seq 40 > hid/a; git add hid; git commit -qm a; git tag base
        echo KEY=swordfish-7 > hid/key; git add hid; git commit -qm b; git checkout -qb here base";
    let begun = || {
        let mut repository = Repository::new();
        repository.rule = "Read(hid/key)";
        git(&repository.work(), other_branch);
        repository
    };
    let ways = [
        // Renames of folders are followed.
        &["mv hid pub", "git add -A; git commit -qm mv", "git merge -q -m m side", "cat pub/key"][..],
        &["mv hid pub", "git add -A; git commit -qm mv", "git cherry-pick side", "cat pub/key"],
        &["mv hid pub", "git add -A; git commit -qm mv", "git merge -q -m m -X find-renames=10 side", "cat pub/key"],
        // The work tree is the current folder.
        &["cd w; git --git-dir=$(git rev-parse --git-dir) checkout -qf side", "cat ROOT/work/w/hid/key"],
        &["cd w; git --git-dir ../.git reset -q --hard side", "cat ROOT/work/w/hid/key"],
        &["cd w; git --git-dir=`git rev-parse --git-dir` restore -s side .", "cat ROOT/work/w/hid/key"],
    ];
    for way in ways {
        let lines: Vec<String> = way.iter().map(|line| (*line).to_owned()).collect();
        let read = unguarded(&begun(), &lines);
        assert!(read.contains("swordfish-7"), "without the rule this should work: {way:?}\n{read}");
        let read = begun().runs(way).await;
        assert!(!read.contains("swordfish-7"), "{way:?}\n{read}");
    }
}

#[tokio::test]
async fn no_way_through_git_shows_a_file_that_a_rule_denies_reading() {
    let ways = ways();
    assert!(ways.len() >= 40);
    let (at_once, mut judged) = (Arc::new(Semaphore::new(AT_ONCE)), JoinSet::new());
    for way in ways.clone() {
        let at_once = at_once.clone();
        judged.spawn(async move {
            let _turn = at_once.acquire_owned().await.expect("open");
            let line = way.clone();
            let read = spawn_blocking(move || unguarded(&Repository::new(), &line)).await.expect("no panic");
            assert!(read.contains("swordfish"), "without the rule and the sandbox this should work: {way:?}\n{read}");
            let commands: Vec<&str> = way.iter().map(String::as_str).collect();
            let read = Repository::new().runs(&commands).await;
            read.contains("swordfish").then(|| format!("{way:?}\n{read}"))
        });
    }
    let leaks: Vec<String> = judged.join_all().await.into_iter().flatten().collect();
    assert!(leaks.is_empty(), "{} of {} ways leak:\n{}", leaks.len(), ways.len(), leaks.join("\n\n"));
}

#[tokio::test]
async fn git_works_on_what_no_rule_hides() {
    let cases = [
        ("git status -s", "done:"),
        ("git log --oneline -1 | cut -d' ' -f2-", "two"),
        ("git log --format=%s --stat -1", "src/lib.rs"),
        ("git diff HEAD~1 HEAD --stat", "src/lib.rs"),
        ("git diff HEAD~1 HEAD -- src", "+open1"),
        ("git diff HEAD~1 HEAD src/lib.rs | cat", "+open1"),
        ("git diff HEAD~1 HEAD -- . ':(exclude,glob)**/.env' | cat", "+open1"),
        ("git diff HEAD~1 HEAD -- ':!.env' | cat", "+open1"),
        ("git show HEAD", "+open1"),
        ("git log -p -1", "+open1"),
        ("git show HEAD:src/lib.rs", "open1"),
        ("git cat-file -p HEAD:src/lib.rs", "open1"),
        ("git grep -n open", "src/lib.rs:1:open1"),
        ("git grep open HEAD -- src | cat", "HEAD:src/lib.rs:open1"),
        ("git rev-parse --abbrev-ref HEAD", "main"),
        ("cd src && git ls-files", "lib.rs"),
        ("git branch new && git branch --list", "new"),
        ("python3 -c 'print(open(\"src/lib.rs\").read())'", "open1"),
        ("cat src/lib.rs; ls -A", "open1"),
        ("git diff HEAD~1 | cat", "':(top,exclude).env'"),
    ];
    for (command, expected) in cases {
        let read = Repository::new().runs(&[command]).await;
        assert!(read.contains(expected) && !read.contains("swordfish"), "{command}\n{read}");
    }
}

#[tokio::test]
async fn a_repository_that_never_held_a_hidden_file_has_no_limits() {
    for command in
        ["git show HEAD | cat", "git archive HEAD | tar xO", "git clone -q . $TMPDIR/c; cat $TMPDIR/c/src/lib.rs"]
    {
        let mut repository = Repository::new();
        repository.rule = "Read(**/other.env)";
        let read = repository.runs(&[command]).await;
        assert!(read.contains("open1"), "{command}\n{read}");
    }
}
