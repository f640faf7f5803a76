// Prints at which of the first numbers of a series MOA's ADWIN drops numbers, one a line, and its
// width and mean at last.
//
//   java -cp moa.jar tests/compiled/MoaAlarms.java 0.002 20000 7 [bits]
//
// The arguments are delta, how many numbers, and the seed of the series, which is the one of
// tests/compiled/test_adwin.py: Gaussians, or zeros and ones. moa.jar is in the folder capymoa/jar of
// the Python package capymoa 0.15.1.

import java.util.Random;
import moa.classifiers.core.driftdetection.ADWIN;

public class MoaAlarms {
    public static void main(String[] arguments) {
        ADWIN window = new ADWIN(Double.parseDouble(arguments[0]));
        Random random = new Random(Long.parseLong(arguments[2]));
        boolean bits = arguments.length > 3;
        for (int n = 0; n < Integer.parseInt(arguments[1]); n++) {
            double shift = 0.05 * (n / 1500 % 4);
            double value;
            if (bits) {
                value = random.nextDouble() < 0.2 + shift ? 1.0 : 0.0;
            } else {
                value = random.nextGaussian() * 0.3 + shift;
            }
            if (window.setInput(value)) {
                System.out.println(n);
            }
        }
        System.out.println(window.getWidth());
        System.out.println(window.getEstimation());
    }
}
