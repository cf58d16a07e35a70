#!/usr/bin/python3
"""The page of neon plot in Chromium: what is drawn is what h5py reads; controls, keys and themes work. Where there is no
Chromium, all is skipped and counted."""
import json
import os
import sys
import unittest

import h5py
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cli"))
import plot_test  # noqa: E402
import plot_views_test  # noqa: E402
import support  # noqa: E402
from browser import Browser, find_browser  # noqa: E402

STEPS = 400
HOSTILE_LAYER = "<svg onload=document.title='run'><script>document.title='run'"
HOSTILE = "</script><script>document.title='run'</script><img src=x onerror=document.title='run'>"


class Page(support.Case):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(2)
        for name, rate in ("fast", 60), ("slow", 150):
            cost = np.float32(np.exp(-np.arange(STEPS) / rate) + 0.05 * rng.random(STEPS) + 0.01)
            loss = np.float32([0.9, 0.5, 0.3, 0.2]) * np.float32(rate / 60)
            plot_test.write_run(self.path(name + ".h5"), {"cost/train": (cost, "minibatch"), "cost/loss": (loss, "epoch")},
                                f"optimizer: {{Adam: {{learning_rate: {rate}}}}}\n", STEPS)
        self.neon("plot", "fast.h5", "slow.h5", "-o", "report.html")
        self.browser.said.clear()
        self.browser.requests.clear()
        self.browser.dark(False)
        self.show("report.html")

    def tearDown(self):
        self.assertEqual(self.browser.said, [])
        self.assertEqual([each for each in self.browser.requests if not each.startswith(("file:", "data:"))], [])

    def show(self, name):
        self.browser.open("file://" + self.path(name))

    def drawn(self, title="training cost"):
        """x and y of each line that the chart of a title has drawn, in the range that can be seen."""
        return self.browser.run(f"""(() => {{
            const {{ chart }} = charts.find((each) => each.title === "{title}"), x = chart.data[0], {{ min, max }} = chart.scales.x;
            return chart.data.slice(1).map((ys) => x.map((at, i) => [at, ys[i]])
                .filter(([at, y]) => y != null && at >= min && at <= max));
        }})()""")

    def box(self, selector):
        return self.browser.run(f"""(() => {{ const box = document.querySelector("{selector}").getBoundingClientRect();
                                    return [box.left, box.top, box.width, box.height]; }})()""")

    def click(self, selector):
        self.browser.run(f'document.querySelector("{selector}").click()')
        self.browser.settle()

    def test_curves_are_those_of_the_files(self):
        for (name, lines) in ("cost/train", self.drawn()), ("cost/loss", self.drawn("evaluation cost")):
            self.assertEqual(len(lines), 2)
            for run, line in zip(("fast", "slow"), lines):
                with h5py.File(self.path(run + ".h5")) as file:
                    steps = np.arange(1, STEPS + 1) if name == "cost/train" else file["time_markers/minibatch"][:]
                    np.testing.assert_array_equal([x for x, _ in line], steps)
                    np.testing.assert_array_equal(np.float32([y for _, y in line]), file[name][:])

    def test_axes(self):
        self.click("input[value=epoch]")
        self.assertEqual([x for x, _ in self.drawn("evaluation cost")[0]], [1, 2, 3, 4])
        np.testing.assert_allclose([x for x, _ in self.drawn()[0]], np.arange(1, STEPS + 1) / 100)
        self.click("input[value=time]")
        self.assertEqual([x for x, _ in self.drawn("evaluation cost")[0]], [2, 4, 6, 8])  # seconds

    def test_log_scale(self):
        lengths = "(() => { const u = charts[0].chart; return [0.1, 0.2, 0.4].map((y) => u.valToPos(y, 'y')); })()"
        self.click("#log")
        a, b, c = self.browser.run(lengths)
        self.assertAlmostEqual(a - b, b - c, delta=1e-6)  # equal factors, equal lengths
        self.click("#log")
        a, b, c = self.browser.run(lengths)
        self.assertAlmostEqual(2 * (a - b), b - c, delta=1e-6)

    def test_smoothing(self):
        raw = [y for _, y in self.drawn()[0]]
        self.browser.run("byId('smoothing').value = 0.9; byId('smoothing').dispatchEvent(new Event('input')); 0")
        self.browser.settle()
        lines = self.drawn()
        self.assertEqual([y for _, y in lines[0]], raw)  # still there, faint
        mean, expected = 0, []
        for i, y in enumerate(raw):  # Adam's mean, with its correction of the beginning
            mean = 0.9 * mean + 0.1 * y
            expected.append(mean / (1 - 0.9 ** (i + 1)))
        np.testing.assert_allclose([y for _, y in lines[1]], expected, rtol=1e-9)

    def test_zoom_by_mouse_and_buttons(self):
        left, top, width, height = self.box(".u-over")
        self.browser.drag(left + width / 4, top + height / 2, left + width / 2)
        self.browser.settle()
        x = [x for x, _ in self.drawn()[0]]
        np.testing.assert_allclose((x[0], x[-1]), (STEPS / 4, STEPS / 2), atol=2)  # a pixel is a step here
        self.assertIn(100, [x - x % 100 for x, _ in self.drawn("evaluation cost")[0]])  # all charts together
        self.assertNotIn(300, [x for x, _ in self.drawn("evaluation cost")[0]])
        self.click("#zoom-all")
        self.assertEqual(len(self.drawn()[0]), STEPS)
        self.click("#zoom-in")
        x = [x for x, _ in self.drawn()[0]]
        self.assertEqual((x[0], x[-1]), (STEPS / 4, 3 * STEPS / 4))
        for kind, clicks in ("mousePressed", 1), ("mouseReleased", 1), ("mousePressed", 2), ("mouseReleased", 2):
            self.browser.mouse(kind, left + 9, top + 9, "left", clicks)
        self.browser.settle()
        self.assertEqual(len(self.drawn()[0]), STEPS)

    def test_hover_shows_the_values_there(self):
        left, top, width, height = self.box(".u-over")
        self.browser.mouse("mouseMoved", left + width / 2, top + height / 2)
        self.browser.settle()
        said = self.browser.run("document.querySelector('.tip').innerText")
        self.assertIn("step 200", said)
        for run in "fast", "slow":
            with h5py.File(self.path(run + ".h5")) as file:
                self.assertIn(str(float(f"{file['cost/train'][199]:.5g}")), said)

    def test_keyboard(self):
        self.browser.run("document.querySelector('.plot').focus()")
        self.browser.press("End", 35)
        self.assertIn("step 400", self.browser.run("document.querySelector('.tip').innerText"))
        self.browser.press("Home", 36)
        self.browser.press("ArrowRight", 39)
        self.assertRegex(self.browser.run("document.querySelector('.tip').innerText"), r"step [3-6]\b")
        self.browser.press("+", 187, "+")
        self.browser.settle()
        self.assertLess(len(self.drawn()[0]), STEPS * 0.6)
        self.browser.press("0", 48, "0")
        self.browser.settle()
        self.assertEqual(len(self.drawn()[0]), STEPS)
        reached = set()
        self.browser.run("document.activeElement.blur()")
        for _ in range(40):
            self.browser.press("Tab", 9)
            reached.add(self.browser.run("document.activeElement.id || document.activeElement.className || document.activeElement.value"))
        self.assertLessEqual({"theme", "log", "smoothing", "filter", "zoom-all", "plot", "differing", "find-setting"}, reached)

    def test_runs_can_be_hidden(self):
        self.click("#runs tbody tr:first-child input")
        lines = self.drawn()
        self.assertEqual(len(lines), 1)
        with h5py.File(self.path("slow.h5")) as file:
            np.testing.assert_array_equal(np.float32([y for _, y in lines[0]]), file["cost/train"][:])

    def test_settings(self):
        cells = "[...document.querySelectorAll('#facts tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent))"
        self.assertEqual(self.browser.run(cells), [["spec optimizer.Adam.learning_rate", "60", "150"]])
        self.click("#differing")
        self.assertIn(["run status", "complete", "complete"], self.browser.run(cells))

    def test_settings_of_one_run_have_none_to_differ_from(self):
        self.assertTrue(self.browser.run("!!byId('differing-label').offsetParent"))
        self.neon("plot", "fast.h5", "-o", "one.html")
        self.show("one.html")
        self.assertFalse(self.browser.run("!!byId('differing-label').offsetParent"))

    def test_filter(self):
        self.browser.run("byId('filter').value = 'evalu'; byId('filter').dispatchEvent(new Event('input')); 0")
        shown = self.browser.run("charts.filter((chart) => chart.card.offsetParent).map((chart) => chart.title)")
        self.assertEqual(shown, ["evaluation cost"])

    def test_themes(self):
        paper = "getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).map(Number)"
        self.assertGreater(min(self.browser.run(paper)), 200)
        self.browser.dark(True)
        self.browser.settle()
        self.assertLess(max(self.browser.run(paper)), 60)
        self.click("#theme")  # from the system's to light
        self.assertGreater(min(self.browser.run(paper)), 200)

    def test_a_phone_scrolls_in_one_direction(self):
        self.browser.resize(360, 740, phone=True)
        self.addCleanup(self.browser.resize, 1280, 900)
        self.show("report.html")
        self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), 360)
        self.assertGreaterEqual(self.box(".plot")[2], 280)

    def test_hostile_texts_do_not_run(self):
        plot_test.write_run(self.path("h.h5"), {"cost/train": (np.float32([1, 2]), "minibatch"), "metrics/" + HOSTILE.replace("/", "|"): (np.float32([1, 2]), "epoch")},
                            f"note: {HOSTILE!r}\n", 2, 2, [("note", HOSTILE)])
        self.neon("plot", "h.h5", "-o", "h.html")
        self.show("h.html")
        self.assertIn(HOSTILE, self.browser.run("document.body.innerText"))
        self.assertEqual(self.browser.run("document.title"), "neon: h")

    def show_views(self):
        """The page of a run with an evaluation, pictures and a graph; a class has a hostile name, and so has a layer."""
        plot_views_test.write_photos(self)
        self.environment.pop("NEON_NO_RUN_FOLDER", None)
        spec = plot_views_test.SPEC.replace("name: stem", f"name: {HOSTILE_LAYER!r}")
        self.neon("-r", "1", self.spec(spec))
        self.show("runs/s-1/report.html")
        self.browser.run("Promise.all([...document.querySelectorAll('.samples, .cells')].map((each) => new Promise((done) => { "
                         "const wait = () => (each.querySelector('canvas') ? done(0) : setTimeout(wait, 20)); wait(); })))")
        self.browser.settle()

    def test_views_are_those_of_the_files(self):
        self.show_views()
        with open(self.path("runs/s-1/eval.json")) as file:
            stored = json.load(file)
        rows = self.browser.run("[...document.querySelectorAll('.matrix tbody tr')].map((row) => [...row.querySelectorAll('td')].map((cell) => Number(cell.textContent)))")
        self.assertEqual(rows, stored["report"]["confusion"])
        captions = self.browser.run("[...document.querySelectorAll('section[aria-label=\"Worst samples\"] figcaption b')].map((each) => each.textContent)")
        self.assertEqual(captions, [each["class"] for each in stored["worst"]])
        drawn = self.browser.run("""[...document.querySelectorAll('section[aria-label="Worst samples"] canvas')].map((canvas) =>
            Array.from(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data))""")
        sheet = support.png_pixels(self.read("runs/s-1/worst.png"))
        side = plot_views_test.SIDE
        for i, pixels in enumerate(drawn):
            top, left = 2 + i // 8 * (side + 2), 2 + i % 8 * (side + 2)
            np.testing.assert_array_equal(np.reshape(pixels, (side, side, 4))[..., :3], sheet[top:top + side, left:left + side])
        self.assertEqual(self.browser.run("document.querySelectorAll('svg.net rect').length"), 6)
        self.assertEqual(self.browser.run("document.querySelectorAll('svg.net path').length"), 6)

    def test_hostile_names_of_classes_and_layers_do_not_run(self):
        self.show_views()
        words = self.browser.run("document.body.innerText")
        self.assertIn(plot_views_test.HOSTILE, words)
        self.assertIn(HOSTILE_LAYER, self.browser.run("document.querySelector('svg.net').textContent"))
        self.assertEqual(self.browser.run("document.title"), "neon: s-1")
        self.assertEqual(self.browser.run("document.querySelectorAll('main img, main script').length"), 0)

    def test_views_on_a_phone_and_in_the_dark(self):
        self.browser.resize(360, 740, phone=True)
        self.addCleanup(self.browser.resize, 1280, 900)
        self.browser.dark(True)
        self.show_views()
        self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), 360)
        ink, card = self.browser.run("(() => { const of = (what, key) => getComputedStyle(document.querySelector(what))[key].match(/[0-9]+/g).map(Number);"
                                     " return [of('svg.net .title', 'fill'), of('svg.net rect', 'fill')]; })()")
        self.assertGreater(min(ink) - max(card), 120)

    def test_several_runs_fold_up(self):
        self.show_views()
        self.neon("-r", "2", "s.yaml")
        self.neon("plot", "runs/s-1", "runs/s-2", "-o", "two.html")
        self.show("two.html")
        parts = "[...document.querySelectorAll('#evaluation .of-run')].map((part) => [part.open, part.querySelectorAll('.matrix').length])"
        self.assertEqual(self.browser.run(parts), [[True, 1], [False, 0]])
        self.click("#evaluation .of-run:last-child summary")
        self.browser.settle()
        self.assertEqual(self.browser.run(parts), [[True, 1], [True, 1]])
        self.click("#runs tbody tr:first-child input")  # hidden runs have no views
        self.assertEqual(len(self.browser.run(parts)), 1)

    def test_a_live_page_follows_the_run(self):
        plot_test.write_run(self.path("l.h5"), {"cost/train": (np.float32([3, 2, np.nan, np.nan]), "minibatch")}, steps=4)
        server = self.start("plot", "l.h5", "--live", "--port", "0")
        try:
            self.browser.open(server.stderr.readline().split()[0])
            self.assertEqual(self.drawn("cost"), [[[1, 3], [2, 2]]])
            with h5py.File(self.path("l.h5"), "r+") as file:
                file["cost/train"][2] = 1
            self.browser.run("new Promise((done) => { const wait = () => "
                             "runs[0].curve('cost/train').points === 3 ? done(0) : setTimeout(wait, 50); wait(); })")
            self.browser.settle()
            self.assertEqual(self.drawn("cost"), [[[1, 3], [2, 2], [3, 1]]])
            origin = self.browser.run("location.origin")
            self.assertEqual({each for each in self.browser.requests if not each.startswith("file:")},
                             {origin + "/", origin + "/data.json"})
            self.browser.requests.clear()
            self.show("report.html")
            self.browser.requests.clear()
        finally:
            server.kill()
            server.communicate()

    def test_first_paint_of_ten_long_runs(self):
        rng, names = np.random.default_rng(1), []
        for run in range(10):
            names.append(f"r{run}.h5")
            plot_test.write_run(self.path(names[-1]), {f"cost/c{k}": (rng.random(100_000, np.float32), "minibatch") for k in range(8)}, steps=100_000)
        self.neon("plot", *names, "-o", "r.html")
        self.show("r.html")
        painted = self.browser.run("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        print(f"first paint after {painted:.0f} ms")
        self.assertLess(painted, 10_000)  # 1 s on an idle machine
        self.assertEqual(len(self.drawn("c0")), 10)


if __name__ == "__main__":
    if find_browser() is None:
        count = unittest.defaultTestLoader.loadTestsFromTestCase(Page).countTestCases()
        print("there is no Chromium (Debian: chromium)")
        print(f"0 passed, 0 failed, {count} skipped")
    else:
        support.main()
