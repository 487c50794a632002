// Two tables of 6 MiB, and a table of small objects. The argument names the large table that is
// used at random. Each page of the other one is stored to once. With `second`, the objects are used
// at random too.
class Tables {
    static long[] first() {
        return new long[3 << 18]; // first
    }

    static long[] second() {
        return new long[3 << 18]; // second
    }

    static long[][] objects() {
        return new long[50_000][15];
    }

    public static void main(String[] arguments) {
        boolean isFirst = arguments[0].equals("first");
        long[] one = first(), other = second();
        for (int i = 0; i < one.length; i += 512) {
            one[i] = 1;
            other[i] = 1;
        }
        long[] hot = isFirst ? one : other;
        long[][] objects = isFirst ? new long[0][] : objects();
        long state = 1, sum = 0;
        for (int i = 0; i < 30_000; i++) {
            state = state * 6364136223846793005L + 1442695040888963407L;
            int at = (int) ((state >>> 33) % hot.length);
            hot[at]++;
            sum += hot[at];
            if (objects.length > 0 && i % 2 == 0) {
                sum += objects[(int) ((state >>> 31) % objects.length)][7]++;
            }
        }
        System.exit(sum == 1 ? 1 : 0);
    }
}
