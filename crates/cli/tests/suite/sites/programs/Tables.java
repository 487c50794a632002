// Two tables of 24 MiB. The argument names the one that is used at random. The other is filled
// once.
class Tables {
    static long[] first() {
        return new long[3 << 20]; // first
    }

    static long[] second() {
        return new long[3 << 20]; // second
    }

    public static void main(String[] arguments) {
        long[] one = first(), other = second();
        for (int i = 0; i < one.length; i++) {
            one[i] = 1;
            other[i] = 1;
        }
        long[] hot = arguments[0].equals("first") ? one : other;
        long state = 1, sum = 0;
        for (int i = 0; i < 400000; i++) {
            state = state * 6364136223846793005L + 1442695040888963407L;
            int at = (int) ((state >>> 33) % hot.length);
            hot[at]++;
            sum += hot[at];
        }
        System.exit(sum == 1 ? 1 : 0);
    }
}
