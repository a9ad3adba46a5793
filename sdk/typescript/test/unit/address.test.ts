import assert from "node:assert/strict";
import { test } from "node:test";
import { place } from "../../src/transport/address.js";

test("an address says how a server is reached", () => {
  assert.deepEqual(place("http://127.0.0.1:7777"), { url: "http://127.0.0.1:7777", options: {} });
  assert.deepEqual(place("tcp://127.0.0.1:7777"), { url: "http://127.0.0.1:7777", options: {} });
  assert.deepEqual(place("https://host:1"), { url: "https://host:1", options: {} });
  assert.deepEqual(place("tcp://host:1", { ca: "CA", cert: "C", key: "K", serverName: "name" }), {
    url: "https://host:1",
    options: { ca: "CA", cert: "C", key: "K", servername: "name" },
  });
  for (const address of ["unix:///run/v.sock", "unix:/run/v.sock"]) {
    const { url, options } = place(address);
    assert.equal(url, "http://localhost");
    assert.equal(typeof options.createConnection, "function");
  }
});

test("an address that is none says what to write", () => {
  const cases: [string, boolean, RegExp][] = [
    ["localhost:7777", false, /is no address: write http:\/\/HOST:PORT/],
    ["ftp://host", false, /is no address: write http:\/\/HOST:PORT/],
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
