// Prints the SHA-256 of rows of a stream of MOA: features and class as little-endian doubles.
//
//   java -cp moa.jar tests/data/MoaRows.java "generators.SEAGenerator -f 4 -i 7" 2000
//
// moa.jar is in the folder capymoa/jar of the Python package capymoa 0.15.1 (MOA 24.07).

import com.github.javacliparser.ClassOption;
import com.yahoo.labs.samoa.instances.Instance;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.util.HexFormat;
import moa.options.OptionHandler;
import moa.streams.ExampleStream;

public class MoaRows {
    public static void main(String[] arguments) throws Exception {
        ExampleStream stream = (ExampleStream) ClassOption.cliStringToObject(
                arguments[0], ExampleStream.class, null);
        ((OptionHandler) stream).prepareForUse();
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        int rows = Integer.parseInt(arguments[1]);
        for (int row = 0; row < rows; row++) {
            Instance instance = (Instance) stream.nextInstance().getData();
            int values = instance.numAttributes();
            ByteBuffer bytes = ByteBuffer.allocate(8 * values).order(ByteOrder.LITTLE_ENDIAN);
            for (int column = 0; column < values; column++) {
                bytes.putDouble(instance.value(column));
            }
            digest.update(bytes.array());
        }
        System.out.println(HexFormat.of().formatHex(digest.digest()).substring(0, 16));
    }
}
