import DocumentModel

/// Looks for a text in bytes, in time that grows with their number only (Knuth, Morris and Pratt).
struct ByteSearch {
    private let wanted: [UInt8]
    /// The length of the longest beginning that is also the end of each beginning.
    private let borders: [Int]

    var count: Int { wanted.count }

    init(_ text: String) {
        wanted = Array(text.utf8)
        var borders = [Int](repeating: 0, count: wanted.count)
        var length = 0
        for index in wanted.indices.dropFirst() {
            while length > 0, wanted[index] != wanted[length] { length = borders[length - 1] }
            if wanted[index] == wanted[length] { length += 1 }
            borders[index] = length
        }
        self.borders = borders
    }

    /// The first place within the range where all of the text stands.
    func first(in bytes: [UInt8], _ range: Range<Int>) -> Int? {
        if wanted.isEmpty { return range.lowerBound }
        var length = 0
        for index in range {
            while length > 0, bytes[index] != wanted[length] { length = borders[length - 1] }
            if bytes[index] == wanted[length] { length += 1 }
            if length == wanted.count { return index + 1 - length }
        }
        return nil
    }
}

extension [Int] {
    /// The first place whose number has a property that all behind it have too.
    func partitioningIndex(_ isReached: (Int) -> Bool) -> Int {
        var low = 0, high = count
        while low < high {
            let middle = (low + high) / 2
            if isReached(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
