import Metrics
import Testing

@Suite struct MetricsTests {
    let registry = MetricsRegistry()

    @Test func `handles of the same label and dimensions share their value`() {
        let first = Counter(label: "uploads_total", help: "Uploads.", dimensions: [("code", "ok")], registry: registry)
        let second = Counter(label: "uploads_total", help: "", dimensions: [("code", "ok")], registry: registry)
        let other = Counter(label: "uploads_total", help: "", dimensions: [("code", "no")], registry: registry)
        first.increment()
        second.increment(by: 2)
        #expect(first.value == 3)
        #expect(other.value == 0)
    }

    @Test func `nothing is lost when many tasks count at once`() async {
        let counter = Counter(label: "a_total", help: "A.", registry: registry)
        let gauge = Gauge(label: "b", help: "B.", registry: registry)
        let timer = Timer(label: "c_seconds", help: "C.", registry: registry)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<5000 {
                        counter.increment()
                        gauge.increment(by: 2)
                        gauge.decrement()
                        timer.record(.milliseconds(500))
                    }
                }
            }
        }
        #expect(counter.value == 20_000)
        #expect(gauge.value == 20_000)
        #expect(timer.count == 20_000)
        #expect(timer.sum == 10_000)
    }

    @Test func `the text is Prometheus' exposition format`() {
        let families = MetricFamily<Counter>(
            label: "requests_total", help: "Requests \\ by\nroute.", dimensions: ["route", "code"], registry: registry)
        families["/b \"x\"\n\\", "200"].increment()
        families["/a", "404"].increment(by: 7)
        Gauge(label: "connections", help: "Open connections.", registry: registry).set(1.5)
        let histogram = Histogram(
            label: "sizes_bytes", help: "Sizes.", dimensions: [("kind", "photo")], buckets: [1, 10, 100],
            registry: registry)
        for value in [0.5, 1, 2, 100, 101] { histogram.record(value) }
        ObservedMetric.gauge(label: "lag_seconds", help: "Lag.", registry: registry) { .infinity }
        #expect(
            registry.prometheusText() == #"""
                # HELP connections Open connections.
                # TYPE connections gauge
                connections 1.5
                # HELP lag_seconds Lag.
                # TYPE lag_seconds gauge
                lag_seconds +Inf
                # HELP requests_total Requests \\ by\nroute.
                # TYPE requests_total counter
                requests_total{route="/a",code="404"} 7
                requests_total{route="/b \"x\"\n\\",code="200"} 1
                # HELP sizes_bytes Sizes.
                # TYPE sizes_bytes histogram
                sizes_bytes_bucket{kind="photo",le="1"} 2
                sizes_bytes_bucket{kind="photo",le="10"} 3
                sizes_bytes_bucket{kind="photo",le="100"} 4
                sizes_bytes_bucket{kind="photo",le="+Inf"} 5
                sizes_bytes_sum{kind="photo"} 204.5
                sizes_bytes_count{kind="photo"} 5

                """#)
    }

    @Test func `a timer measures what it runs, also when that throws`() async {
        struct Failure: Error {}
        let timer = Timer(label: "work_seconds", help: "Work.", registry: registry)
        #expect(timer.measure { 7 } == 7)
        await #expect(throws: Failure.self) {
            try await timer.measure {
                await Task.yield()
                throw Failure()
            }
        }
        #expect(timer.count == 2)
        #expect(timer.sum >= 0 && timer.sum < 10)
    }

    @Test func `too many dimension values end in one series`() {
        let family = MetricFamily<Counter>(
            label: "ids_total", help: "A mistake.", dimensions: ["id"], registry: registry)
        for id in 0..<MetricsRegistry.seriesLimit + 10 { family["\(id)"].increment() }
        let lines = registry.prometheusText().split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(lines.count == MetricsRegistry.seriesLimit + 1)
        #expect(lines.contains(#"ids_total{id="_overflow"} 10"#))
    }
}
