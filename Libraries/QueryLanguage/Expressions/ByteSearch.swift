import DocumentModel

/// Searches for a text in bytes, in time that is linear in their number (Knuth, Morris and Pratt).
struct ByteSearch {
    private let wanted: [UInt8]
    /// For each prefix, the length of its longest proper prefix that is also its suffix.
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

    /// The first place within the range at which the whole text occurs.
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
    /// The first index with a property, if all indexes after it have the property too.
    func partitioningIndex(_ isReached: (Int) -> Bool) -> Int {
        var low = 0, high = count
        while low < high {
            let middle = (low + high) / 2
            if isReached(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
