#!/usr/bin/env python3
"""The runc driver's creates, execs and deletes beside bare runc, by turns in one run, so that what else the machine does
counts for both: the quotient says what the driver costs. Needs root, and an image in RUNC_DRIVER_IMAGES.
"""
import argparse, json, os, shutil, statistics, subprocess, sys, tempfile, time, uuid

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("driver", help="the path of sandbox-driver-runc")
parser.add_argument("image", help="an image's name")
parser.add_argument("rounds", nargs="?", type=int, default=30)
options = parser.parse_args()
driver, image, rounds = options.driver, options.image, options.rounds
images = os.environ.get("RUNC_DRIVER_IMAGES", "/var/lib/sandbox-runc/images")
rootfs = os.path.join(images, image.replace("%", "%25").replace("/", "%2F"), "rootfs")
spec = {"tenant": "bench", "image": image, "command": [], "env": {}, "network": "deny",
        "resources": {"cpu_millis": 1000, "memory_mib": 128, "disk_mib": 64, "pids": 64}}
took = {}


def timed(name, argv, **options):
    begun = time.monotonic()
    done = subprocess.run(argv, check=True, **options)
    took.setdefault(name, []).append((time.monotonic() - begun) * 1e3)
    return done


def ask(state, action, sandbox, payload=None):
    request = {"protocol_version": "sandbox.runtime.v1", "sandbox_id": sandbox, "payload": payload}
    answer = timed("driver " + action, [driver, action], input=json.dumps(request).encode(), stdout=subprocess.PIPE,
                   env={**os.environ, "SANDBOX_STATE_DIR": state})
    if not json.loads(answer.stdout)["success"]:
        sys.exit(answer.stdout.decode())


def bare(state, bundle, name):
    # No pipe of ours for its streams: the container would hold it.
    runc = ["runc", "--root", state + "/bare"]
    timed("bare runc run", [*runc, "run", "--detach", "--bundle", bundle, name], stdin=subprocess.DEVNULL,
          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    subprocess.run([*runc, "delete", "--force", name], check=True)


def main():
    state = tempfile.mkdtemp(prefix="runc-bench.")
    bundle = state + "/bundle"
    os.mkdir(bundle)
    subprocess.run(["runc", "spec", "--bundle", bundle], check=True)
    with open(bundle + "/config.json", "r+", encoding="utf-8") as file:
        config = json.load(file)
        config["root"]["path"] = rootfs
        config["process"].update(args=["sleep", "1000"], terminal=False)
        file.seek(0)
        json.dump(config, file)
        file.truncate()
    for turn in range(rounds + 1):
        sandbox = str(uuid.uuid4())
        ask(state, "create", sandbox, {"spec": spec, "isolation": "container"})
        ask(state, "exec", sandbox, {"argv": ["true"], "timeout_seconds": 60, "operation_id": str(uuid.uuid4())})
        ask(state, "delete", sandbox)
        bare(state, bundle, "bench-" + sandbox)
        if turn == 0:
            took.clear()  # it made the file system that the others copy
    shutil.rmtree(state)
    print(f"{'':16}{'p25':>8}{'p50':>8}{'p75':>8}  ms")
    for name, times in took.items():
        print(f"{name:16}" + "".join(f"{quartile:8.1f}" for quartile in statistics.quantiles(times, n=4)))
    pairs = [ours / bare for ours, bare in zip(took["driver create"], took["bare runc run"])]
    print(f"a create takes {statistics.median(pairs):.2f} times a bare run (the middle of {rounds} pairs)")


main()
