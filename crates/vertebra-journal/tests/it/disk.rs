//! A disk that is full, or can only be read: real ones, mounted for a process of their own.

use std::{fs, io::Write, os::unix::fs::PermissionsExt, path::PathBuf, process::Command};

use vertebra::{Journal, JournalError, JournalFault};
use vertebra_journal::{Options, Store, Sync, Verified};

use crate::support::*;

/// Runs a test that is ignored, with a disk of its own that holds so much, mounted on `disk` below its journal's folder.
fn with_disk(size: &str, test: &str) {
    let area = Area::new();
    let disk = area.folder.path().join("disk");
    fs::create_dir(&disk).expect("a folder");
    let script = r#"mount -t tmpfs -o "size=$1" none "$2" && shift 2 && exec "$@""#;
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", size]).arg(&disk);
    command.arg(std::env::current_exe().expect("this program")).args(Other::role(test));
    Other::spawn(command.env("VERTEBRA_TEST_JOURNAL", disk.join("journal.db"))).end();
}

fn remount(path: &std::path::Path, how: &str) {
    let folder = path.parent().expect("a folder");
    let status = Command::new("mount").args(["-o", &format!("remount,{how}")]).arg(folder).status();
    assert!(status.expect("mount runs").success());
}

#[test]
fn a_full_disk_is_said_and_nothing_is_lost_when_there_is_room_again() {
    with_disk("600k", "disk::fills_the_disk");
}

#[tokio::test]
#[ignore = "it needs a small disk, which the test above gives it"]
async fn fills_the_disk() {
    for sync in [Sync::Power, Sync::Process] {
        let path = given_journal();
        let ballast = path.with_file_name("ballast");
        fs::write(&ballast, vec![1; 200 << 10]).expect("there is room");
        let store = Store::open(&path, &Options { sync, chain: true }).expect("there is room");
        let mut safe = vec![began("s")];
        write(&store, safe.clone()).await;
        let error = loop {
            let next = started("s", u32::try_from(safe.len()).expect("few"));
            match store.append(next.clone()).await {
                Ok(()) => safe.push(next),
                Err(error) => break error,
            }
        };
        is_full(&error);
        // So that not even a smaller line has room.
        let rest = path.with_file_name("rest");
        let mut file = fs::File::create(&rest).expect("a file takes no room");
        while file.write_all(&[1; 4096]).is_ok() {}
        assert!(safe.len() > 10, "{}", safe.len());

        // What was taken and has no room is kept, and no more is taken until it has.
        let told = run_began("s", &"x".repeat(50_000));
        store.append(told.clone()).await.expect("it is taken on trust");
        is_full(&store.append(started("s", 0)).await.expect_err("what comes before it has no room"));
        is_full(&store.append(step("s", 2)).await.expect_err("no more is taken on trust"));
        is_full(&store.release("s").await.expect_err("not before its lines are safe"));
        assert_eq!(lines(&store, "s"), safe, "nothing is half written, and all can be read");

        fs::remove_file(&ballast).and_then(|()| fs::remove_file(&rest)).expect("they are ours");
        let last = started("s", 1_000_000);
        write(&store, [last.clone()]).await;
        safe.extend([told, last]);
        assert_eq!(lines(&store, "s"), safe);
        drop(store);

        let store = Store::open(&path, &Options { sync, chain: true }).expect("a journal");
        assert_eq!(lines(&store, "s"), safe);
        assert!(matches!(store.verify("s"), Ok(Verified::Intact { .. })));
        store.check().expect("a file that is whole");
        drop(store);
        clear(&path);
    }
}

#[test]
fn a_journal_for_which_there_is_no_room_at_all_is_not_begun() {
    with_disk("8k", "disk::finds_no_room");
}

#[tokio::test]
#[ignore = "it needs a tiny disk, which the test above gives it"]
async fn finds_no_room() {
    is_full(&Store::open(given_journal(), &OFTEN).expect_err("there is no room"));
}

#[test]
fn a_disk_that_can_only_be_read_is_said_and_can_be_read() {
    with_disk("4m", "disk::writes_to_a_disk_that_can_only_be_read");
}

#[tokio::test]
#[ignore = "it needs a disk of its own, which the test above gives it"]
async fn writes_to_a_disk_that_can_only_be_read() {
    let path = given_journal();
    let store = Store::open(&path, &OFTEN).expect("a journal");
    write(&store, [began("s"), started("s", 1), ended("s")]).await;
    drop(store);
    remount(&path, "ro");
    let error = Store::open(&path, &OFTEN).expect_err("it cannot be written");
    assert_eq!(error.kind, JournalFault::ReadOnly);
    assert!(error.message.contains("journal.db") && error.message.contains("must be writable"), "{error}");
    let reader = Store::read_only(&path).expect("it can be read");
    assert_eq!(lines(&reader, "s").len(), 3);
    assert_eq!(reader.find("last").expect("a session").lines, 3);
    reader.check().expect("a file that is whole");
    drop(reader);

    remount(&path, "rw");
    fs::remove_file(&path).expect("it is ours");
    remount(&path, "ro");
    let error = Store::open(&path, &OFTEN).expect_err("it cannot be made");
    assert_eq!(error.kind, JournalFault::ReadOnly, "{error}");
}

#[test]
fn a_file_or_folder_that_can_only_be_read_is_said_and_can_be_read() {
    let area = Area::new();
    let mut command = Command::new("unshare");
    // Whoever is nobody in a namespace has no more rights than a file gives its owner, not even as root.
    command.arg("--user").arg(std::env::current_exe().expect("this program"));
    command.args(Other::role("disk::writes_where_it_may_only_read")).env("VERTEBRA_TEST_JOURNAL", area.path());
    Other::spawn(&mut command).end();
}

#[tokio::test]
#[ignore = "it needs to be nobody, as which the test above starts it"]
async fn writes_where_it_may_only_read() {
    let path = given_journal();
    let folder = path.parent().expect("a folder");
    let store = Store::open(&path, &OFTEN).expect("a journal");
    write(&store, [began("s"), started("s", 1), ended("s")]).await;
    drop(store);
    for (what, mode) in [(&*path, 0o400), (folder, 0o500)] {
        let before = fs::metadata(what).expect("it is there").permissions();
        fs::set_permissions(what, fs::Permissions::from_mode(mode)).expect("it is ours");
        let error = Store::open(&path, &OFTEN).expect_err("it cannot be written");
        assert_eq!(error.kind, JournalFault::ReadOnly, "{error}");
        assert!(error.message.contains("journal.db") && error.message.contains("must be writable"), "{error}");
        let reader = Store::read_only(&path).expect("it can be read");
        assert_eq!(lines(&reader, "s").len(), 3);
        assert_eq!(reader.append(began("t")).await.expect_err("it only reads").kind, JournalFault::ReadOnly);
        fs::set_permissions(what, before).expect("it is ours");
    }
}

fn is_full(error: &JournalError) {
    assert_eq!(error.kind, JournalFault::Full, "{error}");
    assert!(error.message.contains("journal.db") && error.message.contains("make room"), "{error}");
}

fn clear(path: &std::path::Path) {
    for file in ["journal.db", "journal.db-wal", "journal.db-shm"].map(|name| path.with_file_name(name)) {
        let _: Result<(), _> = fs::remove_file::<PathBuf>(file);
    }
}
