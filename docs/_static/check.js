// Checks a proof in the browser: cvxens/proofs/checker.py as it is, run by Pyodide in a worker. Nothing is fetched: what
// runs comes in scripts of this site (docs/checking.py), so that it works on pages that are opened as files, too.
"use strict";

// what the worker does; its source is taken as text, so nothing of this page is seen from inside of it
function workInWorker() {
  const lines = [];
  let python = null;

  async function start(files) {
    // Pyodide asks for its parts by address: it gets them from memory, and nothing else from anywhere
    globalThis.fetch = async (asked) => {
      const name = String(asked.url ?? asked).split("/").pop();
      if (!Object.hasOwn(files, name)) throw new TypeError(`${name} is not part of this site`);
      const type = name.endsWith(".wasm") ? "application/wasm" : "application/octet-stream";
      return new Response(files[name], { headers: { "content-type": type } });
    };
    const load = (name) => import(URL.createObjectURL(new Blob([files[name]], { type: "text/javascript" })));
    const { loadPyodide } = await load("pyodide.mjs");
    const { default: createPyodideModule } = await load("pyodide.asm.mjs");
    const indexURL = "https://python.invalid/";
    python = await loadPyodide({ indexURL, packageBaseUrl: indexURL, createPyodideModule });
    python.setStdout({ batched: (line) => lines.push(line) });
    python.FS.writeFile("checker.py", new Uint8Array(files["checker.py"]));
    return python.runPython("import checker, sys; sys.version.split()[0]");
  }

  function check(proof, data) {
    python.FS.writeFile("proof", new Uint8Array(proof));
    python.FS.writeFile("data", new Uint8Array(data));
    lines.length = 0;
    const began = performance.now();
    const status = python.runPython("checker.main(['proof', 'data'])");
    return { status, outcome: lines.join("\n"), seconds: (performance.now() - began) / 1000 };
  }

  globalThis.onmessage = async ({ data: asked }) => {
    try {
      postMessage(asked.files ? { version: await start(asked.files) } : check(asked.proof, asked.data));
    } catch (error) {
      postMessage({ failure: String(error.message ?? error).trim().split("\n").pop() });
    }
  };
}

function setUp(form) {
  const told = JSON.parse(form.dataset.told);
  const [bar, status, outcome] = [form.querySelector("progress"), form.querySelector("[role=status]"), form.querySelector("pre")];
  const [submit, stop] = [form.querySelector("[type=submit]"), form.querySelector("[data-stop]")];
  const buttons = [submit, ...form.querySelectorAll("[data-example]")];
  // what is loaded, the worker with its Python, who waits for it, whether a check is under way
  let [files, running, answered, busy] = [null, null, null, false];

  function show(words, share) {
    status.textContent = words;
    bar.hidden = share === undefined;
    if (share === null) bar.removeAttribute("value");
    else bar.value = share ?? 0;
  }

  function loadPiece(k) {
    return new Promise((done, failed) => {
      const script = document.createElement("script");
      script.src = `${told.at}python-${k}.js`;
      script.onload = () => done(Uint8Array.from(atob(globalThis.cvxensPieces[k]), (c) => c.charCodeAt(0)));
      script.onerror = () => failed(new Error(`a part of this site is missing: ${script.src}`));
      document.head.append(script);
    });
  }

  async function load() {
    globalThis.cvxensPieces = [];
    const pieces = [];
    for (let k = 0; k < told.pieces; k++) {
      const done = ((k * told.megabytes) / told.pieces).toFixed(1);
      show(`Loading Python: ${done} of ${told.megabytes} MB`, k / told.pieces);
      pieces.push(await loadPiece(k));
      globalThis.cvxensPieces[k] = null;
    }
    const packed = new Blob(pieces).stream().pipeThrough(new DecompressionStream("gzip"));
    const bytes = await new Response(packed).arrayBuffer();
    let at = 0;
    return Object.fromEntries(told.files.map(([name, size]) => [name, bytes.slice(at, (at += size))]));
  }

  function ask(message) {
    return new Promise((done, failed) => {
      answered = { done, failed };
      running.worker.postMessage(message);
    });
  }

  function end(why) {
    running?.worker.terminate();
    running = null;
    answered?.failed(new Error(why));
  }

  async function start() {
    show("Starting Python", null);
    // Pyodide wants a module, and Chromium takes one from a page that is a file only as a data address
    const source = encodeURIComponent(`(${workInWorker})()`);
    const worker = new Worker(`data:text/javascript,${source}`, { type: "module" });
    running = { worker, version: "" };
    worker.onmessage = ({ data }) => (data.failure ? end(data.failure) : answered.done(data));
    worker.onerror = (event) => end(event.message || "this browser starts no worker");
    running.version = (await ask({ files })).version;
  }

  function tell(command, words, kind) {
    outcome.className = `check-proof-outcome ${kind}`;
    outcome.replaceChildren(Object.assign(document.createElement("span"), { textContent: `$ ${command}\n` }), words);
    outcome.hidden = false;
  }

  // `read` gives the names and contents of a proof and its data, once the site's own files are here
  async function check(read) {
    [busy, outcome.hidden] = [true, true];
    allow();
    try {
      files ??= await load();
      stop.hidden = false;
      if (!running) await start();
      const [proof, data] = await read(files);
      show(`Checking ${proof.name} against ${data.name}`, null);
      const found = await ask({ proof: proof.content, data: data.content });
      tell(`python checker.py ${proof.name} ${data.name}`, found.outcome, found.status === 0 ? "pass" : "fail");
      show(`Checked in ${found.seconds.toFixed(1)} s by Python ${running.version} in this browser; the files stayed on this machine.`);
    } catch (error) {
      show(`Nothing was checked: ${error.message}. The checker runs from the command line, too, as below.`);
    }
    [busy, stop.hidden] = [false, true];
    allow();
  }

  function allow() {
    const chosen = form.elements.proof.files.length && form.elements.data.files.length;
    buttons.forEach((button) => (button.disabled = busy || (button === submit && !chosen)));
  }

  const readFile = async (file) => ({ name: file.name, content: await file.arrayBuffer() });
  form.addEventListener("change", allow);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const chosen = [form.elements.proof.files[0], form.elements.data.files[0]];
    check(() => Promise.all(chosen.map(readFile)));
  });
  for (const button of form.querySelectorAll("[data-example]")) {
    const name = button.dataset.example;
    const shown = name === told.proof ? name : told.proof.replace(".proof", ".changed.proof");
    button.addEventListener("click", () =>
      check((held) => [{ name: shown, content: held[name] }, { name: told.data, content: held[told.data] }]),
    );
  }
  stop.addEventListener("click", () => end("it was stopped"));
  allow();
}

document.querySelectorAll("form.check-proof").forEach(setUp);
