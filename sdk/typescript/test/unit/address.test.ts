import assert from "node:assert/strict";
import { test } from "node:test";
import type { TlsOptions } from "../../src/index.js";
import { place } from "../../src/transport/address.js";

test("an address says where a server is", () => {
  const cases: [string, TlsOptions | undefined, string][] = [
    ["http://127.0.0.1:7777", undefined, "http://127.0.0.1:7777"],
    ["tcp://127.0.0.1:7777", undefined, "http://127.0.0.1:7777"],
    ["http://[::1]:7777", undefined, "http://[::1]:7777"],
    ["https://host:1", undefined, "https://host:1"],
    ["tcp://host:1", {}, "https://host:1"],
    ["unix:///run/v.sock", undefined, "http://localhost"],
    ["unix:/run/v.sock", undefined, "http://localhost"],
  ];
  for (const [address, tls, url] of cases) assert.equal(place(address, tls).url, url, address);
});

test("an address that is none says what to write", () => {
  const cases: [string, boolean, RegExp][] = [
    ["localhost:7777", false, /invalid address .*: write http:\/\/HOST:PORT/],
    ["ftp://host", false, /invalid address .*: write http:\/\/HOST:PORT/],
    ["http://", false, /write a scheme, a host and a port/],
    ["http://host:1/path", false, /and nothing else/],
    ["http://user@host:1", false, /and nothing else/],
    ["http://host:1", true, /is not encrypted: write https:\/\//],
    ["unix://relative.sock", false, /write unix:\/\/\/PATH/],
    ["unix:///run/v.sock", true, /leave out `tls`/],
  ];
  for (const [address, tls, message] of cases) {
    assert.throws(() => place(address, tls ? { ca: "CA" } : undefined), { code: "invalid_argument", message });
  }
});

test("what is no certificate is an error before anybody is called", () => {
  const cases: [TlsOptions, RegExp][] = [
    [{ ca: "ca.pem" }, /`tls.ca` cannot be read: .*pass what is in the file/],
    [{ cert: "me.pem", key: "me.key" }, /`tls.cert` with `tls.key` cannot be read: .*pass what is in the file/],
    [{ cert: "me.pem" }, /pass both `tls.cert` and `tls.key`/],
    [{ key: "me.key" }, /pass both `tls.cert` and `tls.key`/],
  ];
  for (const [tls, message] of cases) {
    assert.throws(() => place("https://host:1", tls), { code: "invalid_argument", message });
  }
});
