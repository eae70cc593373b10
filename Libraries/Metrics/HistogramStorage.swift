import Synchronization

/// The counts of a histogram.
///
/// `@unchecked Sendable`: the memory is allocated in `init`, freed in `deinit`, and holds only atomics in between.
final class HistogramStorage: MetricStorage, @unchecked Sendable {
    private let bounds: [Double]
    private let boundTexts: [String]
    /// One bucket per bound, and one for values above the last bound.
    private let buckets: UnsafeMutablePointer<Atomic<Int>>
    private let sumBits = Atomic<UInt64>(0)

    init(bounds: [Double]) {
        precondition(!bounds.isEmpty && zip(bounds, bounds.dropFirst()).allSatisfy(<), "buckets must rise")
        self.bounds = bounds
        boundTexts = bounds.map(sampleText)
        buckets = .allocate(capacity: bounds.count + 1)
        for index in 0...bounds.count { (buckets + index).initialize(to: Atomic(0)) }
    }

    deinit {
        buckets.deinitialize(count: bounds.count + 1)
        buckets.deallocate()
    }

    func record(_ value: Double) {
        // A loop over a dozen bounds is faster than a binary search, because most values are small.
        var index = 0
        while index < bounds.count, value > bounds[index] { index += 1 }
        buckets[index].wrappingAdd(1, ordering: .relaxed)
        sumBits.add(value)
    }

    var count: Int { (0...bounds.count).reduce(0) { $0 + buckets[$1].load(ordering: .relaxed) } }

    var total: Double { Double(bitPattern: sumBits.load(ordering: .relaxed)) }

    func append(name: String, labels: String, to text: inout String) {
        let prefix = labels.isEmpty ? "" : labels + ","
        var cumulative = 0
        for (index, bound) in boundTexts.enumerated() {
            cumulative += buckets[index].load(ordering: .relaxed)
            appendSample(name + "_bucket", "\(prefix)le=\"\(bound)\"", String(cumulative), to: &text)
        }
        cumulative += buckets[bounds.count].load(ordering: .relaxed)
        appendSample(name + "_bucket", "\(prefix)le=\"+Inf\"", String(cumulative), to: &text)
        appendSample(name + "_sum", labels, sampleText(total), to: &text)
        // The same number as the last bucket's, since a separate count might already be higher.
        appendSample(name + "_count", labels, String(cumulative), to: &text)
    }
}
